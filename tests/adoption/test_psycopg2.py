"""A URL of OpenStack Placement's configuration names its driver, psycopg2: it goes on to work."""

import subprocess
import sys

import pytest
import sqlalchemy as sa

from tests.databases.test_odd_servers import NAME, without_character_set
from tests.functional.placement.extensions.claims.claiming import ask, outcome
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, expect, holding, numbered, stock
from tests.reference.environment import SCHEMES, reference_python


@pytest.fixture(scope="session")
def database_kind():
    """Return the kind that has this driver."""
    return "postgresql"


@pytest.fixture
def driver(monkeypatch):
    """Let this process import the driver, which is installed beside OpenStack Placement."""
    question = "import psycopg2, pathlib; print(pathlib.Path(psycopg2.__file__).parents[1])"
    told = subprocess.run([reference_python(), "-c", question], capture_output=True, check=True)
    monkeypatch.setattr(sys, "path", [*sys.path, told.stdout.decode().strip()])


def with_driver(url):
    return url.replace("postgresql:", SCHEMES["postgresql:"], 1)


def test_a_database_without_a_character_set_holds_any_name(empty_url, driver):
    service = Service(with_driver(without_character_set(empty_url)))
    expect(service.post("/resource_providers", {"name": NAME, "uuid": ROOT}), 200)
    expect(service.put(f"/resource_providers/{ROOT}/inventories", stock(0, VCPU=8)), 200)
    body = holding({ROOT: {"VCPU": 1}}, project=NAME)
    expect(service.put(f"/allocations/{numbered('c', 1)}", body), 204)
    assert outcome(ask(service, numbered("c", 2))) == 200
    found = expect(service.get(f"/resource_providers?name={NAME}"), 200).json
    assert [each["name"] for each in found["resource_providers"]] == [NAME]
    assert service.get(f"/usages?project_id={NAME}", version="1.37").json["usages"] == {"VCPU": 1}


def test_a_write_waits_for_a_lock_as_long_as_with_our_own_driver(empty_url, driver):
    service = Service(with_driver(empty_url))
    limit = sa.text("SELECT current_setting('lock_timeout')")
    seen = service.database.write(lambda connection: connection.plain.execute(limit).scalar())
    assert seen == "500ms"
