"""A watcher that takes in what changed always ends at what the service says.

`BERTH_WATCHED_STEPS` is how many steps each writer takes (40).
"""

import itertools
import os

import pytest
import sqlalchemy as sa

from placement.extensions.changes import rows as feed_pages
from placement.storage import tables
from placement.storage.feed import change_feed, feed_lanes, feed_position
from tests.functional.placement.candidates.snapshot.comparing import assert_fresh
from tests.functional.placement.extensions.changes.lanes import change_in_new_lanes
from tests.functional.placement.extensions.changes.watching import (
    UUIDS,
    InThread,
    Watcher,
    Writer,
    append_as_before_lanes,
    everything,
)

STEPS = int(os.environ.get("BERTH_WATCHED_STEPS", "40"))
FEED = tables.provider_changes


@pytest.fixture
def prepared(service):
    """Return a service with a custom class."""
    service.put("/resource_classes/CUSTOM_A")
    return service


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 2))]
)
def test_a_watcher_ends_at_what_the_service_says(prepared, seed):
    writer, watcher = Writer(prepared, seed), Watcher(prepared, seed)
    for number in range(STEPS):
        writer.step()
        if number % 3 == 0:
            watcher.step()
        if number % 20 == 19:
            watcher.catch_up()
            assert watcher.copy == everything(prepared)
    watcher.catch_up()
    assert watcher.copy == everything(prepared)
    assert watcher.read_all == 1


def watch_beside_writers(service, other, search=lambda: None):
    """Let watchers step, and `search`, while two workers write; nobody reads everything again."""
    watchers = [Watcher(service, 1), Watcher(other, 2)]
    writers = [Writer(worker, seed) for seed, worker in enumerate((service, other, other))]
    running = [InThread(writer.step, STEPS // 2) for writer in writers]
    while any(thread.is_alive() for thread in running):
        for watcher in watchers:
            watcher.step()
        search()
    for thread in running:
        thread.join()
    assert [thread.failure for thread in running if thread.failure] == []
    for watcher in watchers:
        watcher.catch_up()
        assert watcher.copy == everything(service)
        assert watcher.read_all == 1


def test_a_watcher_beside_writers_of_several_workers(prepared):
    """The writers open lanes, and commit while pages are read."""
    watch_beside_writers(prepared, type(prepared)(prepared.url))


def test_a_watcher_beside_writers_while_lanes_end(prepared, monkeypatch):
    """Every fifth position ends all lanes that no write has; neither a copy nor a search minds."""
    asked = itertools.count()

    def is_short(cursor):
        return len(cursor.lanes) <= 1 or next(asked) % 5 > 0

    monkeypatch.setattr(feed_position, "is_short", is_short)
    # small pages among any number of ended lanes
    monkeypatch.setattr(feed_lanes, "MOST_LANES", 10_000)
    prepared.write("POST", "/resource_providers", {"name": "first", "uuid": UUIDS[0]})
    change_in_new_lanes(prepared.database, 1, UUIDS[0])
    other = type(prepared)(prepared.url)
    live = other.running.snapshot
    live.current()
    watch_beside_writers(prepared, other, live.current)
    assert feed_lanes.ENDS in prepared.database.read(change_feed.start).lanes
    assert_fresh(live, prepared.database)
    assert live.loads == {"first use": 1}


def test_a_watcher_of_a_feed_that_is_trimmed(prepared, monkeypatch):
    monkeypatch.setattr(change_feed, "KEPT", 10)
    monkeypatch.setattr(change_feed, "TRIM_EVERY", 5)
    writer, watcher = Writer(prepared, 5), Watcher(prepared, 5)
    for number in range(3 * STEPS):
        writer.step()
        if number % 60 == 0:
            watcher.step()
    watcher.catch_up()
    assert watcher.copy == everything(prepared)
    assert watcher.read_all > 1


def test_a_watcher_beside_workers_of_earlier_versions(prepared, monkeypatch):
    """They name no uuid of what they delete, and give their rows no lane."""
    monkeypatch.setattr(feed_pages, "MOST_ROWS", 3)
    writer, watcher = Writer(prepared, 7), Watcher(prepared, 7)
    for number in range(STEPS):
        writer.step()
        append_as_before_lanes(prepared.database, number)
        if number % 10 == 5:
            no_uuid = sa.update(FEED).values(resource_provider_uuid=None)
            prepared.database.write(lambda connection, no_uuid=no_uuid: connection.execute(no_uuid))
        if number % 4 == 0:
            watcher.step()
    watcher.catch_up()
    assert watcher.copy == everything(prepared)
