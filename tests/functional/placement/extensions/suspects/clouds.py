"""Clouds in which something is suspicious, and questions about it."""

import datetime

import sqlalchemy as sa

from placement.storage import tables
from placement.storage.tables import utcnow
from tests.functional.placement.small_cloud import expect, holding, numbered, stock

PATH = "/berth/v1/suspects"


def suspects(service, query="", status=200):
    """Ask, and return the body."""
    return expect(service.get(PATH + (query and f"?{query}")), status).json


def of_kind(service, kind):
    """Return the suspects of a kind; the answer counts them."""
    body = suspects(service, f"kind={kind}")
    assert body["kinds"] == {kind: len(body["suspects"])}
    assert {suspect["kind"] for suspect in body["suspects"]} <= {kind}
    return body["suspects"]


def whom(found):
    """Return the names of the providers."""
    return [suspect["provider"]["name"] for suspect in found]


def provider(service, number, name=None, parent=None, traits=(), **totals):
    """Make a provider with inventories; return its uuid."""
    uuid = numbered("a", number)
    body = {"name": name or f"host{number}", "uuid": uuid}
    if parent is not None:
        body["parent_provider_uuid"] = parent
    expect(service.post("/resource_providers", body), 200)
    generation = 0
    if totals:
        wanted = stock(generation, **totals)
        expect(service.put(f"/resource_providers/{uuid}/inventories", wanted), 200)
        generation += 1
    if traits:
        wanted = {"resource_provider_generation": generation, "traits": list(traits)}
        expect(service.put(f"/resource_providers/{uuid}/traits", wanted), 200)
    return uuid


def restock(service, uuid, **inventories):
    """Replace the inventories of a provider, given as records or totals."""
    path = f"/resource_providers/{uuid}"
    generation = service.get(path).json["generation"]
    records = {
        name: record if isinstance(record, dict) else {"total": record}
        for name, record in inventories.items()
    }
    body = {"resource_provider_generation": generation, "inventories": records}
    expect(service.put(f"{path}/inventories", body), 200)


def hold(service, number, allocations, **more):
    """Write a consumer; return its uuid."""
    uuid = numbered("c", number)
    known = service.get(f"/allocations/{uuid}").json
    body = holding(allocations, known.get("consumer_generation"), **more)
    expect(service.put(f"/allocations/{uuid}", body), 204)
    return uuid


def hold_untyped(service, number, allocations):
    """Write a consumer as clients before 1.38 do; return its uuid."""
    uuid = numbered("c", number)
    body = holding(allocations)
    del body["consumer_type"]
    expect(service.put(f"/allocations/{uuid}", body, version="1.28"), 204)
    return uuid


def release(service, uuid):
    expect(service.delete(f"/allocations/{uuid}"), 204)


def age(service, *which, **ago):
    """Let rows be as old as if they had been written some time ago; return how that time is told.

    :param which: tables; all that have times, if none is named
    """
    then = utcnow().replace(microsecond=0) - datetime.timedelta(**ago)

    def backdate(connection):
        for table in which or tables.REFERENCE_TABLES:
            if "created_at" in table.c:
                connection.execute(sa.update(table).values(created_at=then, updated_at=None))

    service.database.write(backdate)
    return told(then)


def told(time):
    """Return how a time is told."""
    return f"{time.isoformat(timespec='seconds')}Z"


def timeless(service):
    """Let no row have a time, as rows of other programs may."""

    def clear(connection):
        for table in tables.REFERENCE_TABLES:
            if "created_at" in table.c:
                connection.execute(sa.update(table).values(created_at=None, updated_at=None))

    service.database.write(clear)
