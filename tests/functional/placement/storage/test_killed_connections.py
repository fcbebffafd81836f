"""An administrator of the database kills connections, or a firewall cuts them."""

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from tests.databases.questions import ask, connected
from tests.faults.running import eventually

#: the id of the own connection, how another one is ended, and whether it is there
OWN = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT connection_id()"}
KILL = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL {}"}
THERE = {
    "postgresql": "SELECT 1 FROM pg_stat_activity WHERE pid = {}",
    "mariadb": "SELECT 1 FROM information_schema.processlist WHERE id = {}",
}


@pytest.fixture
def killing(service, database_kind):
    """Kill the next connection that is given back, just before that; return a list of the ids."""
    killed = []

    def kill(connection, *_):
        if killed:
            return
        cursor = connection.cursor()
        cursor.execute(OWN[database_kind])
        killed.append(cursor.fetchone()[0])
        cursor.close()
        with connected(service.url) as other:
            other.execute(sa.text(KILL[database_kind].format(killed[0])))
        there = THERE[database_kind].format(killed[0])
        eventually(lambda: not ask(service.url, there), lambda: there)

    event.listen(service.database.engine, "reset", kill)
    return killed


@pytest.mark.parametrize("database_kind", ["postgresql", "mariadb"], indirect=True)
def test_one_that_is_killed_after_the_answer_is_not_noticed(service, killing, caplog):
    assert service.get("/resource_providers").status_code == 200
    # PostgreSQL's connection rests before
    service.database.kept.give_back()
    assert killing
    # the drivers know that there is nothing to roll back
    assert not told(caplog)
    assert service.get("/resource_providers").status_code == 200


@pytest.mark.parametrize("database_kind", ["mariadb"], indirect=True)
def test_one_that_is_killed_in_a_transaction_costs_one_line_of_the_log(service, killing, caplog):
    connection = service.database.engine.raw_connection()
    connection.cursor().execute("BEGIN")
    connection.close()
    assert killing
    (record,) = told(caplog)
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert record.getMessage().startswith("Exception during reset or similar: ")
    assert "\n" not in record.getMessage()
    assert service.get("/resource_providers").status_code == 200


def told(caplog):
    """Return what the pool has logged."""
    return [record for record in caplog.records if record.name.startswith("sqlalchemy.pool")]
