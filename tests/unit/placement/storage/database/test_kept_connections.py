"""A connection that has just been used is used again without the pool."""

import contextlib

import pytest
import sqlalchemy as sa

from placement.storage.database import kept_connections
from placement.storage.database.kept_connections import KeptConnections
from tests.patience import PATIENCE

SIZE = 3
OVERFLOW = 2


@pytest.fixture
def looks():
    """Return what the pool hands out."""
    return []


@pytest.fixture
def engine(looks, monkeypatch):
    monkeypatch.setattr(kept_connections, "_LONGEST", PATIENCE)
    made = sa.create_engine(
        "sqlite://",
        poolclass=sa.QueuePool,
        pool_size=SIZE,
        max_overflow=OVERFLOW,
        pool_timeout=0,
        connect_args={"check_same_thread": False},
    )
    sa.event.listen(made, "checkout", lambda connection, *_: looks.append(connection))
    yield made
    made.dispose()


def use(kept, engine):
    with kept.taken(engine) as plain, plain.begin():
        plain.exec_driver_sql("SELECT 1")


def lose(plain):
    plain.invalidate()
    raise sa.exc.ResourceClosedError


def end_session(plain):
    plain.invalidate()
    raise sa.exc.DBAPIError("SELECT 1", None, Exception(), connection_invalidated=True)


def test_it_rests_for_a_second_after_the_pool_has_looked_at_it(engine, looks, monkeypatch):
    kept = KeptConnections(engine, lambda _: True)
    use(kept, engine)
    use(kept, engine)
    assert (len(looks), len(kept), engine.pool.checkedout()) == (1, 1, 1)
    monkeypatch.setattr(kept_connections, "_LONGEST", 0)
    use(kept, engine)
    assert (len(looks), len(kept), engine.pool.checkedout()) == (2, 1, 1)
    kept.give_back()
    assert (len(kept), engine.pool.checkedout()) == (0, 0)


def test_another_process_has_the_pool_look_at_it(engine, looks, monkeypatch):
    kept = KeptConnections(engine, lambda _: True)
    use(kept, engine)
    monkeypatch.setattr(kept_connections.os, "getpid", lambda: 1)
    use(kept, engine)
    assert len(looks) == 2


def test_the_pool_has_one_back_that_is_not_free_or_that_failed(engine):
    kept = KeptConnections(engine, lambda _: False)
    use(kept, engine)
    assert (len(kept), engine.pool.checkedout()) == (0, 0)
    kept = KeptConnections(engine, lambda _: True)
    with kept.taken(engine) as plain:
        plain.exec_driver_sql("SELECT 1")
        # a transaction is open
    with pytest.raises(ZeroDivisionError), kept.taken(engine):
        raise ZeroDivisionError
    assert (len(kept), engine.pool.checkedout()) == (0, 0)


def test_the_pool_always_has_one(engine):
    kept = KeptConnections(engine, lambda _: True)
    with kept.taken(engine), kept.taken(engine), kept.taken(engine):
        pass
    assert (len(kept), engine.pool.checkedin()) == (SIZE - 1, 1)
    kept.give_back()


@pytest.mark.parametrize("overflow", [0, OVERFLOW])
def test_one_that_becomes_free_goes_to_who_waits_for_the_pool(engine, overflow, monkeypatch):
    monkeypatch.setattr(engine.pool, "_max_overflow", overflow)
    kept = KeptConnections(engine, lambda _: True)
    with contextlib.ExitStack() as others:
        for _ in range(SIZE + overflow - 1):
            others.enter_context(kept.taken(engine))
        last = contextlib.ExitStack()
        last.enter_context(kept.taken(engine))
        connect = engine.connect

        def connect_later():
            last.close()
            return connect()

        monkeypatch.setattr(engine, "connect", connect_later)
        use(kept, engine)


def test_no_more_stay_open_than_the_pool_keeps(engine):
    closed = []
    sa.event.listen(engine, "close", lambda *_: closed.append(1))
    kept = KeptConnections(engine, lambda _: True)
    with contextlib.ExitStack() as stack:
        for _ in range(SIZE + OVERFLOW):
            stack.enter_context(kept.taken(engine))
    assert len(closed) == OVERFLOW


def test_another_process_closes_none_of_them(engine, monkeypatch):
    closed = []
    kept = KeptConnections(engine, lambda _: True)
    with kept.taken(engine), kept.taken(engine):
        pass
    with contextlib.ExitStack() as stack:
        for _ in range(SIZE):
            stack.enter_context(engine.connect())
    sa.event.listen(engine, "close", lambda *_: closed.append(1))
    monkeypatch.setattr(kept_connections.os, "getpid", lambda: 1)
    kept.give_back()
    assert (len(kept), engine.pool.checkedout(), closed) == (0, 0, [])


@pytest.mark.parametrize("is_closed", [False, True])
def test_none_rests_that_is_older_than_a_lost_one(engine, looks, is_closed):
    kept = KeptConnections(engine, lambda _: True)
    with kept.taken(engine):
        with kept.taken(engine):
            pass
        if is_closed:
            kept.give_back()
        else:
            with pytest.raises(sa.exc.ResourceClosedError), kept.taken(engine) as plain:
                lose(plain)
    del looks[:]
    use(kept, engine)
    assert len(looks) == 1


def test_none_is_used_that_was_open_when_the_server_ended_one(engine):
    kept = KeptConnections(engine, None)
    with kept.taken(engine), kept.taken(engine), kept.taken(engine) as plain:
        with pytest.raises(sa.exc.DBAPIError), kept.taken(engine) as other:
            end_session(other)
        before = plain.connection.dbapi_connection
    with kept.taken(engine) as one, kept.taken(engine) as two, kept.taken(engine) as three:
        used = {each.connection.dbapi_connection for each in (one, two, three)}
    assert before not in used
    # those that are made since then stay
    use(kept, engine)
    with kept.taken(engine) as one:
        assert one.connection.dbapi_connection in used
