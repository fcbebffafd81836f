"""A name with the character NUL is refused, with its place, on each kind of database."""

import pytest

from tests.functional.placement.extensions.claims.claiming import ask
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import expect, holding, numbered, stock

ROOT = numbered("a", 1)
NAME = "a\0b"


@pytest.fixture
def service(database_url):
    """Return a service with a host."""
    service = Service(database_url)
    expect(service.post("/resource_providers", {"name": "host", "uuid": ROOT}), 200)
    expect(service.put(f"/resource_providers/{ROOT}/inventories", stock(0, VCPU=8)), 200)
    return service


def owned(**fields):
    return {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"} | fields


BODIES = [
    ("POST", "/resource_providers", {"name": NAME}, "$.name"),
    ("PUT", f"/resource_providers/{ROOT}", {"name": NAME}, "$.name"),
    (
        "PUT",
        f"/allocations/{numbered('c', 1)}",
        holding({ROOT: {"VCPU": 1}}, project=NAME),
        "$.project_id",
    ),
    (
        "PUT",
        f"/allocations/{numbered('c', 1)}",
        holding({ROOT: {"VCPU": 1}}, user=NAME),
        "$.user_id",
    ),
    (
        "POST",
        "/allocations",
        {numbered("c", 1): holding({ROOT: {"VCPU": 1}}, project=NAME)},
        f"$.{numbered('c', 1)}.project_id",
    ),
    (
        "POST",
        "/reshaper",
        {
            "inventories": {ROOT: stock(1, VCPU=8)},
            "allocations": {numbered("c", 1): holding({ROOT: {"VCPU": 1}}, user=NAME)},
        },
        f"$.allocations.{numbered('c', 1)}.user_id",
    ),
    (
        "POST",
        "/berth/v1/claims",
        {
            "query": "resources=VCPU:1",
            "consumers": [
                {"uuid": numbered("c", 1), **owned()},
                {"uuid": numbered("c", 2), **owned(project_id=NAME)},
            ],
        },
        "$.consumers[1].project_id",
    ),
]
QUERIES = [
    ("/resource_providers?name=a%00b", "name"),
    ("/usages?project_id=a%00b", "project_id"),
    ("/usages?project_id=p&user_id=a%00b", "user_id"),
    ("/traits?name=in:A%00,B", "name"),
]


def test_in_a_body(service):
    before = service.tables()
    for method, path, body, place in BODIES:
        answer = service.request(method, path, body)
        assert answer.status_code == 400, (path, answer.text)
        assert f"{place} has the character NUL" in answer.json["errors"][0]["detail"]
    assert service.tables() == before


def test_in_a_query(service):
    for path, name in QUERIES:
        answer = service.get(path)
        assert answer.status_code == 400, (path, answer.text)
        assert f"{name} has the character NUL" in answer.json["errors"][0]["detail"]


def test_no_other_text_is_taken_for_it(service):
    """A body may have the six characters of its escape, after a backslash of their own."""
    for name in ("a\\u0000b", "a\\\\u0000", "\\0", "0"):
        expect(service.post("/resource_providers", {"name": name}), 200)
    assert ask(service, numbered("c", 9)).status_code == 200
