"""Every node names the changes of all nodes, which have their own lanes (extensions.md 7)."""

import concurrent.futures
import threading

import pytest

from placement.storage.feed import change_feed, feed_lanes, feed_position
from placement.storage.feed.change_feed import ChangeKind
from tests.functional.placement.extensions.changes.watching import Watcher, Writer, everything
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import expect, numbered

STEPS = 15
POSITIONS = 10


def test_each_node_names_the_changes_of_all(urls):
    services = [Service(url) for url in urls]
    after = services[0].get("/berth/v1/changes").json["position"]
    uuids = [numbered("a", number) for number in range(len(services))]
    for service, uuid in zip(services, uuids, strict=True):
        expect(service.post("/resource_providers", {"name": uuid, "uuid": uuid}), 200)
    expect(services[1].delete(f"/resource_providers/{uuids[0]}"), 204)

    for service in services:
        found = expect(service.get(f"/berth/v1/changes?after={after}"), 200).json
        assert (set(found["providers"]), found["complete"]) == (set(uuids), True)
        nothing = service.get(f"/berth/v1/changes?after={found['position']}").json
        assert nothing == {"position": found["position"], "providers": [], "complete": True}


@pytest.mark.parametrize("ending", [False, True], ids=["lanes stay", "lanes end"])
def test_a_watcher_that_changes_nodes_ends_at_what_the_cluster_says(urls, monkeypatch, ending):
    if ending:
        # whatever node is asked for a position, it ends lanes of all
        monkeypatch.setattr(feed_position, "is_short", lambda cursor: len(cursor.lanes) <= 1)
        # small pages among any number of ended lanes
        monkeypatch.setattr(feed_lanes, "MOST_LANES", 10_000)
    services = [Service(url) for url in urls]
    services[0].put("/resource_classes/CUSTOM_A")
    writers = [Writer(service, seed) for seed, service in enumerate(services)]
    watcher = Watcher(services[0])

    def write(writer):
        for _ in range(STEPS):
            writer.step()

    with concurrent.futures.ThreadPoolExecutor(len(writers)) as pool:
        running = [pool.submit(write, writer) for writer in writers]
        turn = 0
        while not all(job.done() for job in running):
            watcher.service = services[turn % len(services)]
            watcher.step()
            turn += 1
        for job in running:
            job.result()
    watcher.catch_up()
    assert watcher.copy == everything(services[-1])
    assert watcher.read_all == 1
    lanes = services[0].database.read(change_feed.start).lanes
    assert (feed_lanes.ENDS in lanes) == ending


def test_busy_nodes_keep_no_client_of_another_node_waiting(urls, monkeypatch):
    """Their locks aren't seen; a lane that they use stays when its end met one of their writes."""
    monkeypatch.setattr(feed_position, "is_short", lambda cursor: len(cursor.lanes) <= 1)
    idle, *busy = [Service(url) for url in urls]
    ended = threading.Event()

    def write(database):
        while not ended.is_set():
            database.write(lambda connection: change_feed.record(connection, [1], ChangeKind.USAGE))

    with concurrent.futures.ThreadPoolExecutor(2 * len(busy)) as pool:
        writing = [pool.submit(write, service.database) for service in 2 * busy]
        for _ in range(POSITIONS):
            expect(idle.get("/berth/v1/changes"), 200)
        ended.set()
        for job in writing:
            job.result()
    assert idle.database.retries.total() <= 3 * POSITIONS
