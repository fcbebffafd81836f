"""Databases and servers with settings of their own, which are taken over all the same."""

import pytest
import sqlalchemy as sa

from placement.storage.driver.dialects import DatabaseUnusable
from tests.databases.fixtures import only
from tests.databases.mortal import mortal
from tests.databases.questions import connected
from tests.functional.placement.extensions.claims.claiming import ask, outcome
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, expect, holding, numbered, stock

NAME = "Grün 名前"


#: kinds with a server
database_kind = only("postgresql", "mariadb")


def without_character_set(url):
    """Make a database of PostgreSQL whose texts are bytes, as `initdb` does for the locale C."""
    parsed = sa.make_url(url)
    name = f"{parsed.database}_ascii"
    with connected(url) as connection:
        connection.rollback()
        plain = connection.execution_options(isolation_level="AUTOCOMMIT")
        plain.execute(
            sa.text(
                f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 "
                "LC_COLLATE 'C' LC_CTYPE 'C'"
            )
        )
    return parsed.set(database=name).render_as_string(hide_password=False)


def with_ansi_quotes(url):
    """Return the URL for sessions that begin as those of a server with `sql_mode = ANSI` do."""
    return f"{url}&init_command=SET SESSION sql_mode = 'ANSI'"


ODD = {"postgresql": without_character_set, "mariadb": with_ansi_quotes}


def test_it_serves(new_database, database_kind):
    url = ODD[database_kind](new_database(empty=True))
    service = Service(url)
    expect(service.post("/resource_providers", {"name": NAME, "uuid": ROOT}), 200)
    expect(service.put(f"/resource_providers/{ROOT}/inventories", stock(0, VCPU=8)), 200)
    body = holding({ROOT: {"VCPU": 1}}, project=NAME)
    expect(service.put(f"/allocations/{numbered('c', 1)}", body), 204)
    assert outcome(ask(service, numbered("c", 2))) == 200
    assert (
        service.get(f"/resource_providers?name={NAME}").json["resource_providers"][0]["name"]
        == NAME
    )
    assert service.get(f"/usages?project_id={NAME}", version="1.37").json["usages"] == {"VCPU": 1}


@pytest.mark.parametrize("database_kind", ["mariadb"])
def test_a_server_that_would_refuse_each_write_is_refused_at_the_start(database_kind):
    """Also if it holds all that is stored at a start."""
    with mortal(database_kind, "--log-bin=log", "--binlog-format=MIXED") as server:
        Service(server.url).database.close()
        with server.server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET GLOBAL binlog_format = 'STATEMENT'")
        with pytest.raises(DatabaseUnusable, match="set it to MIXED or ROW"):
            Service(server.url)
