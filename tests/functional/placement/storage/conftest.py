"""A database with the newest schema, as another process has it."""

import pytest

from placement.storage.schema import schema_upgrade
from tests.databases.connections import connections


@pytest.fixture
def database(database_url):
    with connections(database_url) as opened:
        database = opened()
        schema_upgrade.sync(database)
        yield database
