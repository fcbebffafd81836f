"""A connection that has just been used is used again without the pool."""

import pytest
import sqlalchemy as sa

from placement.storage.database import kept_connections
from placement.storage.database.kept_connections import KeptConnections

SIZE = 3


@pytest.fixture
def looks():
    """Return what the pool hands out."""
    return []


@pytest.fixture
def engine(looks):
    made = sa.create_engine("sqlite://", poolclass=sa.QueuePool, pool_size=SIZE)
    sa.event.listen(made, "checkout", lambda connection, *_: looks.append(connection))
    yield made
    made.dispose()


def use(kept, engine):
    with kept.taken(engine) as plain, plain.begin():
        plain.exec_driver_sql("SELECT 1")


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
