"""An operator rebuilds a table during a query."""

import contextlib

import pytest
import sqlalchemy as sa

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import schema_upgrade
from placement.storage.tables import change_lanes, traits

REBUILD = {
    "sqlite": f"REINDEX {change_lanes.name}",
    "postgresql": f"VACUUM FULL {change_lanes.name}",
    "mysql": f"ALTER TABLE {change_lanes.name} FORCE",
}


@pytest.fixture
def database(database_url):
    with contextlib.closing(Database(DatabaseSettings(database_url))) as opened:
        schema_upgrade.sync(opened)
        yield opened


def test_a_query_succeeds_while_a_table_is_rebuilt(database, database_url):
    rebuilt = []

    def question(connection):
        connection.execute(sa.select(sa.func.count(traits.c.id)))
        if not rebuilt:
            rebuilt.append(rebuild(database_url))
        return connection.execute(sa.select(sa.func.count(change_lanes.c.id))).scalar()

    assert database.read(question) == 1
    assert rebuilt


def rebuild(url):
    with contextlib.closing(Database(DatabaseSettings(url))) as operator:
        engine = operator.engine.execution_options(isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            return connection.exec_driver_sql(REBUILD[engine.dialect.name])
