"""Work of one thread at a time whose outcome all have who waited for it."""

import threading

import pytest

from placement.candidates.live.shared_work import SharedWork
from placement.errors import DatabaseUnavailable
from tests.faults.running import eventually
from tests.patience import PATIENCE


class Work:
    """Goes on when told, and says how often it was done."""

    def __init__(self):
        self.times = 0
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.failure = None

    def __call__(self):
        self.times += 1
        number = self.times
        self.begun.release()
        assert self.may_end.acquire(timeout=PATIENCE)
        if self.failure is not None:
            raise self.failure
        return number


class Asking(threading.Thread):
    """A thread that asks once."""

    def __init__(self, shared, work, **how):
        super().__init__(daemon=True)
        self.shared, self.work, self.how = shared, work, how
        self.answer = None
        self.start()

    def run(self):
        try:
            self.answer = self.shared.outcome(self.work, **self.how)
        except Exception as error:
            self.answer = error


@pytest.fixture
def work():
    return Work()


@pytest.fixture
def shared():
    return SharedWork(PATIENCE)


def waiting(shared, count):
    """Until so many threads wait."""
    eventually(lambda: len(shared._changed._waiters) == count)


def test_who_asks_while_it_goes_on_shares_the_next_one(shared, work):
    first = Asking(shared, work)
    assert work.begun.acquire(timeout=PATIENCE)
    others = [Asking(shared, work) for _ in range(5)]
    waiting(shared, 5)
    work.may_end.release(2)
    for thread in (first, *others):
        thread.join(PATIENCE)

    assert (first.answer, {other.answer for other in others}) == (1, {2})
    assert work.times == 2


def test_what_has_begun_will_do_for_who_says_so(shared, work):
    first = Asking(shared, work)
    assert work.begun.acquire(timeout=PATIENCE)
    other = Asking(shared, work, may_have_begun=True)
    waiting(shared, 1)
    work.may_end.release()
    first.join(PATIENCE), other.join(PATIENCE)

    assert (first.answer, other.answer, work.times) == (1, 1, 1)


def test_an_outage_is_found_out_once_for_all_who_wait(shared, work):
    work.failure = DatabaseUnavailable()
    first = Asking(shared, work)
    assert work.begun.acquire(timeout=PATIENCE)
    others = [Asking(shared, work) for _ in range(5)]
    waiting(shared, 5)
    work.may_end.release()
    for thread in (first, *others):
        thread.join(PATIENCE)

    assert {type(thread.answer) for thread in (first, *others)} == {DatabaseUnavailable}
    assert work.times == 1


def test_an_outage_that_is_over_is_nobody_s_who_asks_later(shared, work):
    work.failure = DatabaseUnavailable()
    work.may_end.release(2)
    with pytest.raises(DatabaseUnavailable):
        shared.outcome(work)
    work.failure = None

    assert shared.outcome(work, may_have_begun=True) == 2


def test_another_failure_is_the_one_s_whose_work_it_was(shared, work):
    work.failure = RuntimeError("rows without end")
    first = Asking(shared, work)
    assert work.begun.acquire(timeout=PATIENCE)
    other = Asking(shared, work)
    waiting(shared, 1)
    work.may_end.release()
    first.join(PATIENCE)
    work.failure = None
    work.may_end.release()
    other.join(PATIENCE)

    assert isinstance(first.answer, RuntimeError)
    assert other.answer == 2


def test_nobody_waits_longer_than_is_bearable(work):
    impatient = SharedWork(0.01)
    first = Asking(impatient, work)
    assert work.begun.acquire(timeout=PATIENCE)
    with pytest.raises(DatabaseUnavailable):
        impatient.outcome(work)
    work.may_end.release()
    first.join(PATIENCE)

    assert first.answer == 1
