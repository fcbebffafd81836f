"""Pages of the change feed: whatever their size, nothing is missed (extensions.md 7)."""

import contextlib
import random

import pytest
import sqlalchemy as sa

from placement.extensions.changes import rows as feed_pages
from placement.storage import tables
from placement.storage.feed import change_feed, feed_lanes, feed_position
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind, Cursor
from placement.storage.schema import schema_upgrade
from tests.databases.connections import connections
from tests.databases.fixtures import CHOSEN
from tests.functional.placement.small_cloud import numbered

FEED, LANES, RP = tables.provider_changes, tables.change_lanes, tables.resource_providers
COUNT = 12

#: SQLite lets one write in at a time: there is one lane
several_writers = pytest.mark.parametrize(
    "database_kind", [kind for kind in CHOSEN if kind != "sqlite"], indirect=True
)


@pytest.fixture
def new_connections(database_url):
    """Return a function that makes separate database objects, like those of other processes."""
    with connections(database_url) as opened:
        yield opened


@pytest.fixture
def database(new_connections):
    """Return a database with the providers 1 … COUNT."""
    database = new_connections()
    schema_upgrade.sync(database)
    ids = range(1, COUNT + 1)
    rows = [{"id": i, "uuid": uuid(i), "name": uuid(i), "root_provider_id": i} for i in ids]
    database.write(lambda connection: connection.execute(sa.insert(RP), rows))
    return database


def uuid(number):
    return numbered("a", number)


def record(database, *numbers, kind=ChangeKind.USAGE):
    database.write(lambda connection: change_feed.record(connection, numbers, kind))


def start(database):
    return database.read(change_feed.start)


def page(database, cursor, limit=1000):
    return database.read(
        lambda connection: feed_pages.read(connection, cursor, change_feed.start(connection), limit)
    )


def pages(database, cursor, limit):
    """Return what the pages up to the end name, and the last cursor."""
    named = []
    while True:
        found = page(database, cursor, limit)
        assert found is not None
        assert len(found.providers) <= limit
        assert found.complete or found.cursor != cursor
        named += found.providers
        cursor = found.cursor
        if found.complete:
            return named, cursor


def test_without_news_a_page_is_empty(database):
    cursor = start(database)
    found = page(database, cursor)
    assert (found.providers, found.cursor, found.complete) == ([], cursor, True)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_pages_of_any_size_name_every_change(database, limit):
    source = random.Random(limit)
    cursor = start(database)
    wanted = set()
    for _ in range(20):
        numbers = source.sample(range(1, COUNT + 1), source.randint(1, 7))
        wanted |= {uuid(number) for number in numbers}
        record(database, *numbers)

    named, after = pages(database, cursor, limit)

    assert set(named) == wanted
    assert after == start(database)


@several_writers
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_pages_go_through_all_lanes(database, new_connections, limit):
    cursor = start(database)
    with contextlib.ExitStack() as stack:
        for number in range(1, 6):
            other = stack.enter_context(new_connections().transaction())
            change_feed.record(other, [number, number + 5], ChangeKind.USAGE)
        assert page(database, cursor, limit).providers == []

    named, after = pages(database, cursor, limit)

    assert set(named) == {uuid(number) for number in range(1, 11)}
    assert len(after.lanes) >= 5


@several_writers
def test_a_write_that_commits_between_two_pages_is_in_the_next(database, new_connections):
    cursor = start(database)
    record(database, 1, 2, 3)
    with new_connections().transaction() as other:
        change_feed.record(other, [9], ChangeKind.USAGE)
        first = page(database, cursor, 2)

    named, _ = pages(database, first.cursor, 2)
    assert {*first.providers, *named} == {uuid(1), uuid(2), uuid(3), uuid(9)}


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_page_also_ends_after_so_many_rows(database, monkeypatch, rows):
    monkeypatch.setattr(feed_pages, "MOST_ROWS", rows)
    cursor = start(database)
    for _ in range(5):
        record(database, 1, 2)

    assert not page(database, cursor).complete
    named, after = pages(database, cursor, 1000)
    assert set(named) == {uuid(1), uuid(2)}
    assert after == start(database)


def test_a_cursor_inside_the_last_write_continues_after_further_writes(database):
    cursor = start(database)
    record(database, 1, 2, 3, 4)
    first = page(database, cursor, 2)
    record(database, 5)

    assert pages(database, first.cursor, 10)[0] == [uuid(3), uuid(4), uuid(5)]


def test_a_deleted_provider_is_named(database):
    cursor = start(database)
    record(database, 3)

    def delete(connection):
        connection.execute(sa.update(RP).where(RP.c.id == 3).values(root_provider_id=None))
        connection.execute(sa.delete(RP).where(RP.c.id == 3))
        change_feed.record_deleted(connection, {3: uuid(3)})

    database.write(delete)
    assert page(database, cursor).providers == [uuid(3)]


def test_a_deletion_without_uuid_ends_the_feed(database):
    """A worker of an earlier version writes it so."""
    cursor = start(database)
    record(database, 3, kind=ChangeKind.DELETED)
    assert page(database, cursor) is None
    assert page(database, start(database)) is not None


def test_rows_without_lane_are_named_once_they_have_one(database):
    cursor = start(database)
    values = {"resource_provider_id": 4, "kind": int(ChangeKind.USAGE)}
    database.write(lambda c: c.execute(sa.insert(FEED).values(values)))

    assert change_feed.has_news(database, cursor)
    assert page(database, cursor).providers == [uuid(4)]


def test_changes_of_names_name_no_provider(database):
    cursor = start(database)
    database.write(change_feed.record_names)
    found = page(database, cursor, 1)
    assert (found.providers, found.complete) == ([], True)


def test_a_trimmed_feed_does_not_continue(database):
    cursor = start(database)
    record(database, 1)
    record(database, 2)
    oldest = sa.select(sa.func.max(FEED.c.id)).scalar_subquery()
    last = database.read(lambda c: c.execute(sa.select(oldest)).scalar())
    database.write(lambda c: c.execute(sa.delete(FEED).where(FEED.c.id < last)))
    assert page(database, cursor) is None
    database.write(lambda c: c.execute(sa.delete(FEED)))
    assert page(database, cursor) is None


def saved(database):
    return database.read(
        lambda c: {t: [dict(r._mapping) for r in c.execute(sa.select(t))] for t in (FEED, LANES)}
    )


def restore(database, rows):
    def write(connection):
        for table, kept in rows.items():
            connection.execute(sa.delete(table))
            if kept:
                connection.execute(sa.insert(table), kept)

    database.write(write)


@pytest.mark.parametrize("since", [[], [(1, 2, 3)], [(1,)] * 9])
@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_a_database_that_was_set_back_does_not_continue(database, since, limit):
    """Not even from inside a write whose positions another write has now."""
    record(database, 1)
    before = saved(database)
    cursor = start(database)
    record(database, 1, 2, 3)
    read = page(database, cursor, limit).cursor

    restore(database, before)
    for numbers in since:
        record(database, *numbers)

    assert page(database, read) is None


def test_the_cursor_of_another_database_does_not_continue(database):
    record(database, 1)
    assert page(database, Cursor({7: (1, 1)})) is None
    lanes = {lane: (position + 1, mark) for lane, (position, mark) in start(database).lanes.items()}
    assert page(database, Cursor(lanes)) is None


def record_in_lanes_of_their_own(database, monkeypatch, *numbers):
    """Record each change in a new lane, as concurrent writers would."""

    def new_lane(connection, count):
        return feed_lanes.open_lane(connection, 0, count)

    with monkeypatch.context() as patched:
        patched.setattr(feed_lanes, "take", new_lane)
        for number in numbers:
            record(database, number)


@pytest.mark.parametrize("rows", [1, 3, feed_pages.MOST_ROWS])
def test_a_lane_with_quicker_writers_keeps_no_other_waiting(database, monkeypatch, rows):
    monkeypatch.setattr(feed_pages, "MOST_ROWS", rows)
    cursor = start(database)
    record(database, 1, 2, 3)
    record_in_lanes_of_their_own(database, monkeypatch, 10, 11, 12)
    named = []
    for _ in range(3 + 3):
        # two more changes for each that is read, all of them in one lane
        record(database, 4, 5)
        found = page(database, cursor, 1)
        named += found.providers
        cursor = found.cursor
        assert not found.complete
    assert {uuid(number) for number in (10, 11, 12)} <= set(named)
    rest, cursor = pages(database, cursor, 1)
    assert {*named, *rest} == {uuid(number) for number in (1, 2, 3, 4, 5, 10, 11, 12)}
    assert cursor == start(database)


def test_five_hundred_lanes_are_a_page(database, monkeypatch):
    cursor = start(database)
    record_in_lanes_of_their_own(database, monkeypatch, *([*range(1, COUNT + 1)] * 42)[:500])
    before = database.statements
    found = page(database, cursor)
    assert database.statements - before <= 6
    assert (len(found.providers), found.complete) == (COUNT, True)
    position = feed_position.written(found.cursor)
    # as doc/extensions.rst says
    assert len(position) <= 27 * len(found.cursor.lanes) + 7
    assert feed_position.parsed(position) == found.cursor == start(database)


def test_writers_that_fail_leave_no_lane_behind(database, new_connections):
    record(database, 1)
    lanes = start(database).lanes.keys()
    for number in range(2, 6):
        with contextlib.suppress(ZeroDivisionError), new_connections().transaction() as other:
            change_feed.record(other, [number], ChangeKind.USAGE)
            raise ZeroDivisionError
        record(database, number)
    assert start(database).lanes.keys() == lanes


def test_a_page_costs_the_same_statements_whatever_its_size(database):
    cursor = start(database)
    record(database, *range(1, COUNT + 1))
    counts = set()
    for limit in (2, 5, 1000):
        before = database.statements
        page(database, cursor, limit)
        counts.add(database.statements - before)
    assert max(counts) <= 4, counts


def test_rows_without_provider_are_no_limit(database):
    cursor = start(database)
    for _ in range(3):
        record(database, NO_PROVIDER, kind=ChangeKind.NAMES)
    record(database, 1)
    assert page(database, cursor, 1).providers == [uuid(1)]
