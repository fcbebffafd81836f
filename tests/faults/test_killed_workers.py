"""Workers that are killed while they write leave nothing half done (DESIGN D3, D4).

`BERTH_TEST_KILLS` says how many are killed on each database.
"""

import json
import os
import random
import signal
import threading
import time

import pytest

from tests.faults.running import Client, eventually, running
from tests.faults.tables import broken_rules, part_of, shared_generation
from tests.faults.writers import SHARED, SHARED_TOTAL, Writer
from tests.functional.placement.service import Service

KILLS = int(os.environ.get("BERTH_TEST_KILLS", "15"))
WRITERS = 4
#: seconds within which the moment of a kill is drawn; a write takes some thousandths
LONGEST_LIFE = 0.08
#: often enough that each of two workers answers some
QUESTIONS = 5
SEARCHES = (
    "resources=VCPU:1",
    "resources=VGPU:2",
    "resources=DISK_GB:1",
    "resources_A=VCPU:1&resources_B=VGPU:1&group_policy=none",
)


@pytest.fixture
def service(database_url):
    with running(database_url) as service:
        yield service


def begin(client):
    """Make the provider that all share, and the writers with theirs."""
    assert client.post("/resource_providers", {"name": "shared", "uuid": SHARED}).status == 200
    stock = {
        "resource_provider_generation": 0,
        "inventories": {"VCPU": {"total": SHARED_TOTAL, "reserved": 0}},
    }
    assert client.put(f"/resource_providers/{SHARED}/inventories", stock).status == 200
    writers = [Writer(number, random.Random(number)) for number in range(WRITERS)]
    for writer in writers:
        writer.make(client)
    return writers


def write_until_killed(service, writers, source):
    """Let all write, kill one worker meanwhile, and wait until another has taken its place."""
    stop = threading.Event()
    threads = [
        threading.Thread(target=writer.run, args=(Client(service.path), stop.is_set))
        for writer in writers
    ]
    for thread in threads:
        thread.start()
    time.sleep(source.uniform(0, LONGEST_LIFE))
    victim = source.choice(service.workers())
    os.kill(victim, signal.SIGKILL)
    stop.set()
    for thread in threads:
        thread.join()
    eventually(lambda: victim not in service.workers())
    service.wait_until_served()


def candidates(answer):
    """An answer's candidates, in whatever order."""
    requests = sorted(json.dumps(each, sort_keys=True) for each in answer["allocation_requests"])
    return requests, answer["provider_summaries"]


def wrong_candidates(service, url):
    """The searches that a worker answers unlike a service that has just started."""
    fresh = Service(url, placement_database__sync_on_startup=False)
    wrong = []
    for search in SEARCHES:
        path = f"/allocation_candidates?{search}"
        right = candidates(fresh.get(path).json)
        answers = [candidates(service.get(path).body) for _ in range(QUESTIONS)]
        wrong += [(search, answer, right) for answer in answers if answer != right]
    return wrong


def test_a_killed_worker_leaves_whole_writes_only(service, database_url):
    source = random.Random()
    writers = begin(service)
    unanswered = done = 0
    for _ in range(KILLS):
        write_until_killed(service, writers, source)
        unanswered += sum(writer.maybe is not None for writer in writers)
        for writer in writers:
            done += writer.settle(part_of(database_url, writer))
        steps = 1 + sum(writer.part.shared_steps for writer in writers)
        assert shared_generation(database_url) == steps
        assert broken_rules(database_url) == {}
        assert wrong_candidates(service, database_url) == []

    assert [writer.wrong for writer in writers] == [[]] * WRITERS
    assert all(writer.granted for writer in writers)
    print(f"{KILLS} kills, {unanswered} writes without an answer, {done} of them done;", end=" ")
    print(f"{sum(writer.granted for writer in writers)} answered and done")
    assert unanswered
