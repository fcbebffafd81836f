"""PostgreSQL's limit for statements while a write locks several rows, and after that."""

import pytest

from placement.storage import providers
from tests.extras import needed_library
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import CHILD, EMPTY, ROOT, fill

needed_library("psycopg", "postgresql")
LIMIT = "SELECT current_setting('statement_timeout')"


@pytest.fixture(params=["postgresql"])
def database_kind(request):
    return request.param


@pytest.mark.parametrize("own", ["0", "20s", "5s"])
def test_an_operators_own_limit_holds_again_after_the_locks(new_database, own):
    options = f"options=-c%20statement_timeout%3D{own}"
    service = Service(new_database(), placement_database__connection_parameters=options)
    fill(service)

    def write(connection):
        assert len(providers.lock(connection, [ROOT, CHILD, EMPTY])) == 3
        return connection.plain.exec_driver_sql(LIMIT).scalar()

    assert service.database.write(write) == own
    service.database.close()
