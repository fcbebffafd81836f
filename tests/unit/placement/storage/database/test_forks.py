"""A process never uses the connections of its parent."""

import os

import pytest
import sqlalchemy as sa

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.database.kept_connections import KeptConnections


@pytest.fixture
def database(tmp_path):
    opened = Database(DatabaseSettings(f"sqlite:///{tmp_path}/n.db"))
    yield opened
    opened.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can't fork here")
def test_a_forked_process_opens_connections_of_its_own(database):
    with database.engine.connect() as connection:
        parents = connection.connection.dbapi_connection
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        same = b"?"
        try:
            with database.engine.connect() as connection:
                same = b"y" if connection.connection.dbapi_connection is parents else b"n"
        finally:
            os.write(writer, same)
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 1) == b"n"
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("is_own", [True, False])
def test_only_the_process_that_opened_connections_closes_them(is_own):
    engine, closed = sa.create_engine("sqlite://", poolclass=sa.QueuePool), []
    sa.event.listen(engine, "close", lambda *_: closed.append(1))
    engine.connect().close()

    KeptConnections(engine, None).dispose(os.getpid() if is_own else os.getppid())

    assert closed == ([1] if is_own else [])
