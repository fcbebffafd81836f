"""A MariaDB database whose character set has few characters."""

import pytest
import sqlalchemy as sa

from tests.databases.fixtures import only
from tests.databases.questions import ask, connected
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, expect, holding, numbered, stock

#: other kinds have one character set for a server, or Unicode only
database_kind = only("mariadb")


@pytest.fixture
def service(new_database):
    url = new_database(empty=True)
    name = url.partition("localhost/")[2].partition("?")[0]
    tell(url, f"ALTER DATABASE {name} CHARACTER SET latin1 COLLATE latin1_swedish_ci")
    service = Service(url)
    assert "latin1" in str(ask(url, "SHOW CREATE TABLE resource_providers"))
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    expect(service.put(f"/resource_providers/{ROOT}/inventories", stock(0, VCPU=8)), 200)
    return service


def tell(url, statement):
    with connected(url) as connection:
        connection.execute(sa.text(statement))


OUTSIDE = "名前"
REQUESTS = {
    "create": ("POST", "/resource_providers", {"name": OUTSIDE, "uuid": numbered("d", 1)}),
    "rename": ("PUT", f"/resource_providers/{ROOT}", {"name": OUTSIDE}),
    "look up": ("GET", f"/resource_providers?name={OUTSIDE}", None),
    "project": (
        "PUT",
        f"/allocations/{numbered('c', 1)}",
        holding({ROOT: {"VCPU": 1}}, project=OUTSIDE),
    ),
    "user": ("PUT", f"/allocations/{numbered('c', 1)}", holding({ROOT: {"VCPU": 1}}, user=OUTSIDE)),
    "usages": ("GET", f"/usages?project_id={OUTSIDE}", None),
}


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS.values(), ids=REQUESTS)
def test_a_name_outside_the_character_set_is_rejected(service, method, path, body):
    before = service.tables()
    answer = service.request(method, path, body)
    assert answer.status_code == 400
    assert "a character that the database can't store" in answer.json["errors"][0]["detail"]
    assert service.tables() == before


def test_names_within_the_character_set_are_stored(service):
    expect(service.put(f"/resource_providers/{ROOT}", {"name": "Grün"}), 200)
    assert service.get(f"/resource_providers/{ROOT}").json["name"] == "Grün"
