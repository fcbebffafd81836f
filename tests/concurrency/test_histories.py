"""The results of concurrent clients of several workers could be those of one sequential client.

`BERTH_TEST_HISTORIES` is the number of histories to record on each database, at least.
`BERTH_TEST_HISTORY_SEED` selects the requests of clients, but not their timing.
"""

import collections
import os
import signal

import pytest

from tests.concurrency.clients import (
    CONSUMERS,
    PROVIDERS,
    TOTAL,
    Task,
    at_work,
    make,
    provider_uuid,
)
from tests.concurrency.history import Explained, explain
from tests.concurrency.model import (
    CONFLICT,
    DONE,
    IN_USE,
    MISPLACED,
    NO_CANDIDATE,
    REFUSED,
    Claim,
    State,
    Write,
    WriteTree,
)
from tests.extent import examples
from tests.faults.forking import running
from tests.faults.running import eventually

HISTORIES = int(os.environ.get("BERTH_TEST_HISTORIES", examples(1, 2)))
#: enough that every outcome occurs in one of them
MOST_HISTORIES = 50
SEED = int(os.environ.get("BERTH_TEST_HISTORY_SEED", "1"))
CLIENTS = 4
CALLS = 60
pytestmark = pytest.mark.usefixtures("forking")
START = State.fresh(PROVIDERS, CONSUMERS, TOTAL)


@pytest.fixture
def service(database_url):
    with running(database_url, workers=2) as service:
        yield service


def tasks(service, history):
    """Create the providers of a history and return the tasks of its clients."""
    make(service, history)
    seeds = [(SEED * 1000 + history) * 100 + client for client in range(CLIENTS)]
    return [Task(service.path, history, client, CALLS, seed) for client, seed in enumerate(seeds)]


def shown(service, history):
    """Return the providers of a history, with their generations."""
    paths = [f"/resource_providers/{provider_uuid(history, n)}" for n in range(PROVIDERS)]
    return [service.get(path).body for path in paths]


def outcomes(calls, kind=Write):
    """Count the results of one kind of operation, without what more they tell."""
    answers = (call.answer for call in calls if isinstance(call.operation, kind))
    return collections.Counter(
        answer[0] if isinstance(answer, tuple) else answer for answer in answers
    )


def test_concurrent_calls_are_explained_by_some_order(service):
    total, trees = collections.Counter(), collections.Counter()
    claims = collections.Counter()
    history = 0
    # without every outcome there is too little to explain; timing decides how often each occurs
    while history < HISTORIES or not (
        {DONE, CONFLICT, REFUSED} <= total.keys()
        and {DONE, CONFLICT} <= trees.keys()
        and {DONE, CONFLICT} <= claims.keys()
    ):
        assert history < MOST_HISTORIES, (total, trees, claims)
        with at_work(tasks(service, history)) as calls:
            recorded = calls()
        found = explain(recorded, START)
        assert isinstance(found, Explained), str(found)
        assert len(found.order) == CLIENTS * CALLS
        total += outcomes(recorded)
        trees += outcomes(recorded, WriteTree)
        claims += outcomes(recorded, Claim)
        history += 1
    assert trees.keys() <= {DONE, CONFLICT, REFUSED, MISPLACED, IN_USE}
    assert claims.keys() <= {DONE, CONFLICT, NO_CANDIDATE}
    print(f"{history} histories; writes: {dict(total)}, of trees: {dict(trees)}", end="")
    print(f"; claims: {dict(claims)}")


# what each database keeps of a killed worker's writes: tests/faults/test_killed_workers.py
@pytest.mark.thorough
def test_calls_whose_worker_is_killed_happened_once_or_not_at_all(service):
    unanswered = 0
    for history in range(1000, 1000 + HISTORIES):
        given = tasks(service, history)
        fresh = shown(service, history)
        with at_work(given) as calls:
            eventually(lambda h=history, f=fresh: shown(service, h) != f, service.said)
            os.kill(service.workers()[0], signal.SIGKILL)
            recorded = calls()
        found = explain(recorded, START)
        assert isinstance(found, Explained), str(found)
        unanswered += sum(not call.answered for call in recorded)
        service.wait_until_served()
    print(f"{HISTORIES} histories; {unanswered} calls without an answer")
