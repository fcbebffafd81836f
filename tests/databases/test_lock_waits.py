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
from tests.databases.fixtures import only
from tests.databases.questions import connected, kind_of
from tests.faults.locks import wait_until_somebody_waits, waiting, waiting_transactions
from tests.faults.running import eventually
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import CHILD, ROOT, fill
from tests.patience import PATIENCE

AWAITED = Awaited(SimpleNamespace(table="t", seen=None, free=None, one=None), {})
SEEN = {"uuids": ["two", "one"]}
CHILD_ALONE = functools.partial(providers.lock, uuids=[CHILD])


database_kind = only("postgresql", "mariadb")


class Writer:
    """A service whose writes lock providers.

    :ivar stood_in: one for each write that has begun to wait for long
    """

    def __init__(self, url):
        self.service, self.stood_in = Service(url), []
        fill(self.service)

    def __call__(self, lock=CHILD_ALONE, **more):
        database = self.service.database
        database.answers(True, lambda: contextlib.nullcontext(self.stood_in.append(1)))
        return database.write(lock, **more)


@pytest.fixture
def writer(database_url):
    return Writer(database_url)


def lock_child(url, stack):
    """Lock CHILD in a transaction of another program; return what ends it."""
    other = stack.enter_context(connected(url))
    question = "SELECT id FROM resource_providers WHERE uuid = :uuid FOR UPDATE"
    other.execute(sa.text(question), {"uuid": CHILD}).all()
    return other.rollback


def test_a_write_joins_those_that_wait_for_its_row_without_trying(database_url, writer, beside):
    refused = threading.Event()

    def lock(connection):
        try:
            return providers.lock(connection, [ROOT, CHILD])
        except StillLocked:
            refused.set()
            raise

    with contextlib.ExitStack() as stack:
        lock_child(database_url, stack)
        first = beside(writer, lock)
        eventually(lambda: writer.stood_in)
        wait_until_somebody_waits(database_url)
        second = beside(writer, lock)
        assert refused.wait(PATIENCE)
        # none does between two of its waits
        assert waiting(database_url) <= 1
        assert not any(each.done() for each in (first, second))
    assert set(first.result()) == set(second.result()) == {ROOT, CHILD}


def test_a_write_gets_a_row_that_others_always_want(database_url, writer, beside):
    with contextlib.ExitStack() as stack:
        release = lock_child(database_url, stack)
        write = beside(writer)
        for taken in range(3):
            eventually(lambda count=taken: write.done() or len(writer.stood_in) > count)
            if write.done():
                # on PostgreSQL, it may be faster than the other that is about to get the row
                break
            wait_until_somebody_waits(database_url)
            following = beside(lock_child, database_url, stack)
            wait_until_somebody_waits(database_url, 2)
            release()
            release = following.result()
        assert set(write.result()) == {CHILD}


def test_a_wait_that_the_operator_stops_is_one_for_a_lock(database_url, writer, beside):
    stop = "SELECT pg_cancel_backend" if kind_of(database_url) == "postgresql" else "KILL QUERY "
    with contextlib.ExitStack() as stack:
        lock_child(database_url, stack)
        write = beside(writer, tries=1)
        eventually(lambda: writer.stood_in)
        wait_until_somebody_waits(database_url)
        operator = stack.enter_context(connected(database_url))
        # nobody, if that took as long as a write waits at most: it has ended so, too
        for session, _ in waiting_transactions(database_url):
            operator.execute(sa.text(f"{stop}({session})"))
        with pytest.raises(LostRace):
            write.result()


@pytest.fixture
def waits():
    return LockWaits(1)


@pytest.fixture
def beside():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        yield pool.submit


def looking(in_database, row=(1, "one"), free=lambda: False):
    """Return what opens connections that find a row locked by others.

    :param in_database: called as the wait for it
    :param free: returns whether it is free by now
    """
    connection = SimpleNamespace(
        execute_all=lambda *questions: ([row], [row] if free() else []),
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
    monkeypatch.setattr(lock_waits, "LOOK_EVERY", 0)
    assert waits.wait(AWAITED, looking(wait_for_another))
    done = []
    assert waits.wait(AWAITED, looking(lambda: done.append(True)))
    assert done


@pytest.mark.parametrize("database_kind", [None])
@pytest.mark.parametrize("most", [0, 1])
def test_who_finds_no_room_to_wait_looks_whether_the_row_is_free(most, database_kind, monkeypatch):
    waits, looks = LockWaits(most), iter([False, False, True])

    def wait_for_another():
        assert waits.wait(AWAITED, looking(pytest.fail, (2, "two"), looks.__next__))

    monkeypatch.setattr(lock_waits, "LOOK_EVERY", 0)
    if most:
        assert waits.wait(AWAITED, looking(wait_for_another))
    else:
        wait_for_another()
    assert not list(looks)
    with waits.in_line() as first, waits.in_line() as second:
        assert (first, second) == (True, False)
