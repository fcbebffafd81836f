"""Workers that are killed during writes leave no partial write (architecture.rst D3, D4).

`BERTH_TEST_KILLS` is the number of kills on each database.
"""

import os
import random
import signal
import threading
import time

import pytest

from tests.extent import examples
from tests.faults.forking import running
from tests.faults.load import WRITERS, begin, wrong_candidates
from tests.faults.running import Client, eventually
from tests.faults.tables import broken_rules, part_of, shared_generation

KILLS = int(os.environ.get("BERTH_TEST_KILLS", examples(1, 10)))
#: enough that one of them is within a write
MOST_KILLS = 1000
#: maximum seconds until a kill, which is drawn at random; a write takes some milliseconds
LONGEST_LIFE = 0.08


@pytest.fixture
def service(database_url):
    with running(database_url) as service:
        yield service


def write_until_killed(service, writers, source):
    """Run all writers, kill one worker during it, and wait until its successor serves.

    Each writer has had a write granted before, however slow the machine is.
    """
    stop = threading.Event()
    before = [writer.granted for writer in writers]
    threads = [
        threading.Thread(target=writer.run, args=(Client(service.path), stop.is_set))
        for writer in writers
    ]
    for thread in threads:
        thread.start()
    eventually(lambda: all(w.granted > n for w, n in zip(writers, before, strict=True)))
    time.sleep(source.uniform(0, LONGEST_LIFE))
    victim = source.choice(service.workers())
    os.kill(victim, signal.SIGKILL)
    stop.set()
    for thread in threads:
        thread.join()
    eventually(lambda: victim not in service.workers())
    service.wait_until_served()


def test_a_killed_worker_leaves_complete_writes_only(service, database_url):
    source = random.Random()
    writers = begin(service)
    unanswered = done = killed = 0
    # a kill that takes no answer away shows nothing
    while killed < KILLS or not unanswered:
        assert killed < MOST_KILLS, "no kill took an answer away"
        killed += 1
        write_until_killed(service, writers, source)
        unanswered += sum(writer.maybe is not None for writer in writers)
        for writer in writers:
            done += writer.settle(part_of(database_url, writer))
        steps = 1 + sum(writer.part.shared_steps for writer in writers)
        assert shared_generation(database_url) == steps
        assert broken_rules(database_url) == {}
        assert wrong_candidates(service, database_url) == []

    assert [writer.wrong for writer in writers] == [[]] * WRITERS
    print(f"{killed} kills, {unanswered} writes without an answer, {done} of them done;", end=" ")
    print(f"{sum(writer.granted for writer in writers)} answered and done")
