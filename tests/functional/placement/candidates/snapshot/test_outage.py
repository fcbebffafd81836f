"""During an outage each search ends by itself, however many there are."""

import threading

import pytest

from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.errors import DatabaseUnavailable
from tests.faults.running import eventually
from tests.functional.placement.candidates.snapshot.comparing import record, use, used
from tests.patience import PATIENCE

SEARCHES = 4


class Silence:
    """A database in front of a real one; what it is asked gets no answer until it is ended."""

    def __init__(self, database):
        self._database = database
        self.is_silent = False
        self._ended = threading.Event()
        self._asked = threading.Semaphore(0)

    def _answer(self, method, *arguments, **values):
        if self.is_silent:
            self._asked.release()
            assert self._ended.wait(PATIENCE)
            raise DatabaseUnavailable()
        return method(*arguments, **values)

    def read(self, question):
        return self._answer(self._database.read, question)

    def ask(self, question, **values):
        return self._answer(self._database.ask, question, **values)

    def wait_until_asked(self, times):
        for _ in range(times):
            assert self._asked.acquire(timeout=PATIENCE)

    def end(self):
        self.is_silent = False
        self._ended.set()


def search_at_once(live):
    """Start searches side by side; their outcomes come when they end."""
    outcomes = []

    def search():
        try:
            outcomes.append(live.current())
        except DatabaseUnavailable as error:
            outcomes.append(error)

    threads = [threading.Thread(target=search, daemon=True) for _ in range(SEARCHES)]
    for thread in threads:
        thread.start()
    return threads, outcomes


@pytest.fixture
def silence(cloud, database):
    return Silence(database)


def test_searches_find_an_outage_out_side_by_side(silence):
    """None waits for another one before it asks the database itself."""
    live = LiveSnapshot(silence)
    live.current()
    silence.is_silent = True
    threads, outcomes = search_at_once(live)
    silence.wait_until_asked(SEARCHES)
    silence.end()
    for thread in threads:
        thread.join(PATIENCE)

    assert [type(outcome) for outcome in outcomes] == [DatabaseUnavailable] * SEARCHES
    live.current()


def test_searches_that_wait_for_one_that_loads_end_with_it(silence):
    live = LiveSnapshot(silence)
    silence.is_silent = True
    threads, outcomes = search_at_once(live)
    silence.wait_until_asked(1)
    eventually(lambda: len(live._refreshing._changed._waiters) == SEARCHES - 1)
    silence.end()
    for thread in threads:
        thread.join(PATIENCE)

    assert [type(outcome) for outcome in outcomes] == [DatabaseUnavailable] * SEARCHES
    live.current()
    assert live.loads == {"first use": 1}


def test_after_an_outage_nothing_is_missing(silence, database):
    live = LiveSnapshot(silence)
    live.current()
    silence.is_silent = True
    threads, _ = search_at_once(live)
    use(database, 3)
    record(database, 1)
    silence.end()
    for thread in threads:
        thread.join(PATIENCE)

    assert used(live) == 3
    assert live.loads == {"first use": 1}
