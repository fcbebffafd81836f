"""How the writes of one process wait for a row that others have locked (`lock_waits.py`)."""

import concurrent.futures
import contextlib
import functools
import threading
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from placement.errors import LostRace
from placement.storage import providers
from placement.storage.database import lock_waits
from placement.storage.database.compiled import Awaited
from placement.storage.database.lock_waits import LockWaits, StillLocked
from tests.databases.fixtures import CHOSEN
from tests.databases.questions import ask, connected, kind_of
from tests.faults.locks import wait_until_somebody_waits, waiting
from tests.faults.running import eventually
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import CHILD, ROOT, fill
from tests.patience import PATIENCE

AWAITED = Awaited(SimpleNamespace(table="t", seen=None, free=None, one=None), {})
#: by whether the database is PostgreSQL
WHO_WAITS = {
    True: "SELECT pid FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock'",
    False: "SELECT p.id FROM information_schema.innodb_trx t "
    "JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id "
    "WHERE p.db = database() AND t.trx_state = 'LOCK WAIT'",
}
SEEN = {"uuids": ["two", "one"]}


@pytest.fixture(params=[kind for kind in CHOSEN if kind != "sqlite"])
def database_kind(request):
    return request.param


def test_a_write_joins_those_that_wait_for_its_row_without_trying(database_url):
    service = Service(database_url)
    fill(service)
    refused, stood_in = threading.Event(), []

    def write(connection):
        try:
            return providers.lock(connection, [ROOT, CHILD])
        except StillLocked:
            refused.set()
            raise

    def run():
        service.database.answers(True, lambda: contextlib.nullcontext(stood_in.append(1)))
        return service.database.write(write)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        with connected(database_url) as other, other.begin():
            question = "SELECT id FROM resource_providers WHERE uuid = :uuid FOR UPDATE"
            other.execute(sa.text(question), {"uuid": CHILD}).all()
            first = pool.submit(run)
            eventually(lambda: stood_in)
            wait_until_somebody_waits(database_url)
            second = pool.submit(run)
            assert refused.wait(PATIENCE)
            # none does between two of its waits
            assert waiting(database_url) <= 1
            assert not any(each.done() for each in (first, second))
        assert set(first.result()) == set(second.result()) == {ROOT, CHILD}


def lock_child(url, stack):
    """Lock CHILD in a transaction of another program; return what ends it."""
    other = stack.enter_context(connected(url))
    question = "SELECT id FROM resource_providers WHERE uuid = :uuid FOR UPDATE"
    other.execute(sa.text(question), {"uuid": CHILD}).all()
    return other.rollback


def test_a_write_gets_a_row_that_others_always_want(database_url, beside):
    service = Service(database_url)
    fill(service)
    stood_in = []

    def run():
        service.database.answers(True, lambda: contextlib.nullcontext(stood_in.append(1)))
        return service.database.write(lambda connection: providers.lock(connection, [CHILD]))

    with contextlib.ExitStack() as stack:
        release = lock_child(database_url, stack)
        write = beside(run)
        for taken in range(3):
            eventually(lambda count=taken: write.done() or len(stood_in) > count)
            if write.done():
                # on PostgreSQL, it may be faster than the other that is about to get the row
                break
            wait_until_somebody_waits(database_url)
            following = beside(lock_child, database_url, stack)
            wait_until_somebody_waits(database_url, 2)
            release()
            release = following.result()
        assert set(write.result()) == {CHILD}


def test_a_wait_that_the_operator_stops_is_one_for_a_lock(database_url, beside):
    service = Service(database_url)
    fill(service)
    stood_in = []

    def run():
        service.database.answers(True, lambda: contextlib.nullcontext(stood_in.append(1)))
        lock = functools.partial(providers.lock, uuids=[CHILD])
        return service.database.write(lock, tries=1)

    with contextlib.ExitStack() as stack:
        lock_child(database_url, stack)
        write = beside(run)
        eventually(lambda: stood_in)
        wait_until_somebody_waits(database_url)
        stop_statements(database_url)
        with pytest.raises(LostRace):
            write.result()


def stop_statements(url):
    """Cancel each statement that waits, as a limit for statements would."""
    is_postgresql = kind_of(url) == "postgresql"
    stop = "SELECT pg_cancel_backend({})" if is_postgresql else "KILL QUERY {}"
    with connected(url) as other:
        for (waiting_one,) in ask(url, WHO_WAITS[is_postgresql]):
            other.execute(sa.text(stop.format(waiting_one)))


@pytest.fixture
def waits():
    return LockWaits(1)


@pytest.fixture
def beside():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        yield pool.submit


def looking(in_database, row=(1, "one")):
    """Return what opens connections that find a row locked by others.

    :param in_database: called as the wait for it
    """
    connection = SimpleNamespace(
        execute_all=lambda *questions: ([row], []),
        execute=lambda statement, values: in_database(),
    )
    return lambda: contextlib.nullcontext(connection)


@pytest.mark.parametrize("database_kind", [None])
def test_who_waits_for_the_same_row_shares_the_outcome(waits, beside, database_kind, monkeypatch):
    joined = threading.Event()

    class Joined(concurrent.futures.Future):
        def result(self, timeout=None):
            joined.set()
            return super().result(timeout)

    def lose():
        assert waits.awaits("t", SEEN)
        assert waits.awaits("t", {"id": 1})
        assert not waits.awaits("other", SEEN)
        followers.append(beside(waits.wait, AWAITED, looking(pytest.fail)))
        assert joined.wait(PATIENCE)
        raise ConnectionError

    monkeypatch.setattr(lock_waits, "Future", Joined)
    followers = []
    with pytest.raises(ConnectionError):
        waits.wait(AWAITED, looking(lose))
    assert isinstance(followers[0].exception(), StillLocked)
    assert not waits.awaits("t", SEEN)


@pytest.mark.parametrize("database_kind", [None])
def test_only_so_many_rows_are_waited_for(waits, database_kind, monkeypatch):
    def wait_for_another():
        with pytest.raises(StillLocked):
            waits.wait(AWAITED, looking(pytest.fail, row=(2, "two")))

    monkeypatch.setattr(lock_waits, "LONGEST_LOCK", 0)
    assert waits.wait(AWAITED, looking(wait_for_another))
    done = []
    assert waits.wait(AWAITED, looking(lambda: done.append(True)))
    assert done
