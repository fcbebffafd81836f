"""Claims that come while a thread works wait in a line, and are made together."""

import concurrent.futures
import contextlib
import threading
from types import SimpleNamespace

import pytest

from placement.errors import ClaimUnfinished, SearchAbandoned
from placement.extensions.claims import claim_batch, claim_lines
from placement.extensions.claims.claim_lines import ClaimLines
from tests.patience import PATIENCE


class FakeClaim:
    """A claim of one consumer.

    :param seconds_left: the seconds after which it is given up
    """

    is_made, is_abandoned = False, False
    stand_in = staticmethod(contextlib.nullcontext)

    def __init__(self, uuid, seconds_left=PATIENCE):
        self.consumers = [SimpleNamespace(uuid=uuid)]
        self.seconds_left = seconds_left


class Noted(threading.Condition):
    """Releases `waiting` whenever a thread begins to wait for another's work."""

    def __init__(self, waiting):
        super().__init__()
        self._waiting = waiting

    def wait(self, timeout=None):
        # who works waits for some milliseconds for more claims
        if timeout is None or timeout >= claim_lines.LOOK_EVERY:
            self._waiting.release()
        return super().wait(timeout)


@pytest.fixture
def waiting(monkeypatch):
    """Return what is released once for each thread that waits, however long it does."""
    monkeypatch.setattr(claim_lines, "LOOK_EVERY", PATIENCE)
    monkeypatch.setattr(claim_batch, "LOOK_AFTER", PATIENCE)
    waiting = threading.Semaphore(0)
    stand_in = SimpleNamespace(Condition=lambda: Noted(waiting))
    monkeypatch.setattr(claim_lines, "threading", stand_in)
    return waiting


@pytest.fixture
def batches(monkeypatch):
    """Return a function that has each batch made by a function of its jobs and its parts."""

    def made_by(run):
        class Batch:
            def __init__(self, jobs, send, lined, root=None):
                self.jobs, self.send, self.lined, self.root = jobs, send, lined, root

            def run(self):
                run(self)

        monkeypatch.setattr(claim_lines, "ClaimBatch", Batch)

    return made_by


def uuids(batch):
    return {uuid for job in batch.jobs for uuid in job.uuids}


def make(batch):
    for job in batch.jobs:
        job.results = {}


def test_claims_that_come_during_the_work_are_made_together_after_it(batches, waiting):
    made, begun = [], threading.Event()

    def run(batch):
        if not made:
            begun.set()
            for _ in range(2):
                assert waiting.acquire(timeout=PATIENCE)
        made.append(uuids(batch))
        make(batch)

    batches(run)
    claims = ClaimLines()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = [pool.submit(claims.make, FakeClaim("a"))]
        assert begun.wait(PATIENCE)
        answers += [pool.submit(claims.make, FakeClaim(uuid)) for uuid in "bc"]
        assert [answer.result(PATIENCE) for answer in answers] == [{}, {}, {}]

    assert made == [{"a"}, {"b", "c"}]


@pytest.mark.parametrize("reason", [ClaimUnfinished, SearchAbandoned])
def test_a_claim_that_is_given_up_does_not_wait_for_those_that_are_being_made(batches, reason):
    begun, enough, made = threading.Event(), threading.Event(), []

    def run(batch):
        begun.set()
        assert enough.wait(PATIENCE)
        made.append(uuids(batch))
        make(batch)

    batches(run)
    claims = ClaimLines()
    given_up = FakeClaim("b", seconds_left=0 if reason is ClaimUnfinished else PATIENCE)
    given_up.is_abandoned = reason is SearchAbandoned
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(claims.make, FakeClaim("a"))
        assert begun.wait(PATIENCE)
        with pytest.raises(reason):
            claims.make(given_up)
        enough.set()
        assert first.result(PATIENCE) == {}
        assert claims.make(FakeClaim("c")) == {}

    assert made == [{"a"}, {"c"}]


def test_those_of_a_locked_tree_go_to_its_line_and_others_do_not_wait_with_them(batches, waiting):
    made, locked, free = [], threading.Event(), threading.Event()

    def run(batch):
        if batch.root is None:
            for job in [job for job in batch.jobs if min(job.uuids).startswith("t")]:
                batch.send(job, "tree")
                batch.jobs.remove(job)
        else:
            assert batch.lined() == {"tree"}
            locked.set()
            assert free.wait(PATIENCE)
        made.append((batch.root, uuids(batch)))
        make(batch)

    batches(run)
    claims = ClaimLines()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = [pool.submit(claims.make, FakeClaim("t1"))]
        assert locked.wait(PATIENCE)
        answers += [pool.submit(claims.make, FakeClaim(uuid)) for uuid in ("t2", "t3")]
        for _ in range(2):
            assert waiting.acquire(timeout=PATIENCE)
        assert claims.make(FakeClaim("other")) == {}
        while claims.waiting("tree") < 2:
            assert waiting.acquire(timeout=PATIENCE)
        free.set()
        assert [answer.result(PATIENCE) for answer in answers] == [{}, {}, {}]

    of_the_tree = [one for one in made if one[0] == "tree"]
    assert of_the_tree == [("tree", {"t1"}), ("tree", {"t2", "t3"})]
    assert (None, {"other"}) in made
    assert claims.waiting("tree") == 0


def test_one_that_is_left_over_goes_alone(batches):
    made = []

    def run(batch):
        made.append([job.is_alone for job in batch.jobs])
        if batch.jobs[0].is_alone:
            make(batch)
        batch.jobs[0].is_alone = True

    batches(run)
    assert ClaimLines().make(FakeClaim("a")) == {}
    assert made == [[False], [True]]


def test_one_that_goes_alone_has_a_turn_of_its_own_in_the_line_of_a_tree(batches, waiting):
    made, begun, enough = [], threading.Event(), threading.Event()

    def run(batch):
        if batch.root is None:
            for job in batch.jobs:
                job.is_alone = "alone" in job.uuids
                batch.send(job, "tree")
            return
        if not made:
            begun.set()
            assert enough.wait(PATIENCE)
        made.append(uuids(batch))
        make(batch)

    batches(run)
    claims = ClaimLines()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = [pool.submit(claims.make, FakeClaim("first"))]
        assert begun.wait(PATIENCE)
        answers += [pool.submit(claims.make, FakeClaim(uuid)) for uuid in ("a", "alone", "b")]
        while claims.waiting("tree") < 3:
            assert waiting.acquire(timeout=PATIENCE)
        enough.set()
        assert [answer.result(PATIENCE) for answer in answers] == [{}] * 4

    assert made[0] == {"first"}
    assert sorted(map(sorted, made[1:])) == [["a", "b"], ["alone"]]


def test_an_error_of_a_batch_is_that_of_its_claim(batches):
    def run(batch):
        batch.jobs[0].fail(ClaimUnfinished())

    batches(run)
    with pytest.raises(ClaimUnfinished):
        ClaimLines().make(FakeClaim("a"))


def test_whatever_ends_a_turn_leaves_the_line_to_the_next(batches):
    def run(batch):
        if "a" in uuids(batch):
            raise KeyboardInterrupt
        make(batch)

    batches(run)
    claims = ClaimLines()
    with pytest.raises(KeyboardInterrupt):
        claims.make(FakeClaim("a"))
    assert claims.make(FakeClaim("b")) == {}
