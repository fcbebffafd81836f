"""Claims that come while a thread works wait, and are made together (extensions.md 4)."""

import concurrent.futures
import threading
from types import SimpleNamespace

import pytest

from placement.errors import ClaimUnfinished
from placement.operations import joint_claims
from placement.operations.joint_claims import JointClaims
from tests.patience import PATIENCE


class StandIn:
    """A claim that must not be made alone.

    :param left: the seconds after which it is given up
    """

    def __init__(self, uuid, left=PATIENCE):
        self.wanted = [SimpleNamespace(uuid=uuid)]
        self.left = left

    def run(self, lines):
        raise AssertionError(f"{self.wanted} is made alone")


@pytest.fixture
def waiting(monkeypatch):
    """Return a semaphore that is released whenever a thread begins to wait for another's work."""
    waiting = threading.Semaphore(0)

    class Noted(threading.Condition):
        def wait(self, timeout=None):
            # with less than a second, the one who works waits for more claims
            if timeout is None or timeout > 1:
                waiting.release()
            return super().wait(timeout)

    monkeypatch.setattr(joint_claims, "threading", SimpleNamespace(Condition=Noted))
    return waiting


def test_claims_that_come_during_the_work_are_made_together_after_it(monkeypatch, waiting):
    made, begun = [], threading.Event()

    def make_together(jobs):
        if not made:
            begun.set()
            for _ in range(2):
                assert waiting.acquire(timeout=PATIENCE)
        made.append({uuid for job in jobs for uuid in job.uuids})
        for job in jobs:
            job.results = {}

    monkeypatch.setattr(joint_claims, "make_together", make_together)
    claims = JointClaims()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = [pool.submit(claims.make, StandIn("a"))]
        assert begun.wait(PATIENCE)
        answers += [pool.submit(claims.make, StandIn(uuid)) for uuid in "bc"]
        assert [answer.result(PATIENCE) for answer in answers] == [{}, {}, {}]

    assert made == [{"a"}, {"b", "c"}]


def test_a_claim_whose_time_is_over_does_not_wait_for_those_that_are_being_made(monkeypatch):
    begun, enough, made = threading.Event(), threading.Event(), []

    def make_together(jobs):
        begun.set()
        assert enough.wait(PATIENCE)
        made.append({uuid for job in jobs for uuid in job.uuids})
        for job in jobs:
            job.results = {}

    monkeypatch.setattr(joint_claims, "make_together", make_together)
    claims = JointClaims()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(claims.make, StandIn("a"))
        assert begun.wait(PATIENCE)
        with pytest.raises(ClaimUnfinished):
            claims.make(StandIn("b", left=0))
        enough.set()
        assert first.result(PATIENCE) == {}
        assert claims.make(StandIn("c")) == {}

    assert made == [{"a"}, {"c"}]
