"""The number of SQL statements doesn't grow with the number of rows (architecture.rst D3).

Each case is an operation with a small and a large input. executemany counts as one statement.
"""

import pytest
import sqlalchemy as sa

from tests import extent
from tests.functional.placement.service import COMMIT, Service, statements
from tests.functional.placement.small_cloud import ROOT, expect, holding, numbered, stock

FEW, MANY = 2, extent.examples(7, 40)
PATH = f"/resource_providers/{ROOT}"


def provider(service, uuid=ROOT, parent=None):
    body = {"name": uuid, "uuid": uuid}
    if parent is not None:
        body["parent_provider_uuid"] = parent
    expect(service.post("/resource_providers", body), 200)


def providers(service, count, total=100):
    """Create so many providers with an inventory of VCPU, at generation 1."""
    uuids = [numbered("d", number) for number in range(count)]
    for uuid in uuids:
        provider(service, uuid)
        expect(service.put(f"/resource_providers/{uuid}/inventories", stock(0, VCPU=total)), 200)
    return uuids


def class_names(service, count):
    names = [f"CUSTOM_{number}" for number in range(count)]
    for name in names:
        expect(service.put(f"/resource_classes/{name}"), 201)
    return names


def trait_names(service, count):
    names = [f"CUSTOM_{number}" for number in range(count)]
    for name in names:
        expect(service.put(f"/traits/{name}"), 201)
    return names


def consumers(count):
    return [numbered("c", number) for number in range(count)]


def chain(service, count):
    """Create a chain of providers below ROOT."""
    provider(service)
    above = ROOT
    for number in range(count):
        uuid = numbered("d", number)
        provider(service, uuid, above)
        above = uuid


# Each case prepares the service for `count` rows and returns the request to measure.


def replaced_inventories(service, count):
    provider(service)
    names = class_names(service, count)
    return "PUT", f"{PATH}/inventories", stock(0, **dict.fromkeys(names, 5))


def deleted_inventories(service, count):
    method, path, body = replaced_inventories(service, count)
    expect(service.request(method, path, body), 200)
    return "DELETE", path, None


def replaced_traits(service, count):
    provider(service)
    names = trait_names(service, count)
    expect(service.put(f"{PATH}/traits", traits(0, ["HW_CPU_X86_AVX", "HW_CPU_X86_SSE"])), 200)
    return "PUT", f"{PATH}/traits", traits(1, names)


def traits(generation, names):
    return {"traits": names, "resource_provider_generation": generation}


def deleted_traits(service, count):
    provider(service)
    expect(service.put(f"{PATH}/traits", traits(0, trait_names(service, count))), 200)
    return "DELETE", f"{PATH}/traits", None


def replaced_aggregates(service, count):
    provider(service)
    aggregates = [numbered("b", number) for number in range(count)]
    body = {"aggregates": aggregates, "resource_provider_generation": 0}
    return "PUT", f"{PATH}/aggregates", body


def deleted_provider(service, count):
    method, path, body = replaced_inventories(service, count)
    expect(service.request(method, path, body), 200)
    expect(service.put(f"{PATH}/traits", traits(1, trait_names(service, count))), 200)
    return "DELETE", PATH, None


def moved_tree(service, count):
    chain(service, count)
    other = numbered("e", 1)
    provider(service, other)
    return "PUT", PATH, {"name": "moved", "parent_provider_uuid": other}


def new_allocations(service, count):
    wanted = {uuid: {"VCPU": 1} for uuid in providers(service, count)}
    return "PUT", f"/allocations/{consumers(1)[0]}", holding(wanted)


def replaced_allocations(service, count):
    method, path, body = new_allocations(service, count)
    expect(service.request(method, path, body), 204)
    return method, path, {**body, "consumer_generation": 1, "project_id": "other"}


def emptied_consumer(service, count):
    method, path, body = new_allocations(service, count)
    expect(service.request(method, path, body), 204)
    return method, path, holding({}, generation=1)


def deleted_allocations(service, count):
    method, path, body = new_allocations(service, count)
    expect(service.request(method, path, body), 204)
    return "DELETE", path, None


def new_consumers(service, count):
    """Write many new consumers, each with its own project, user and type."""
    uuids = providers(service, count)
    bodies = {
        consumer: holding({uuid: {"VCPU": 1}}, project=f"p{n}", user=f"u{n}", kind=f"TYPE_{n}")
        for n, (consumer, uuid) in enumerate(zip(consumers(count), uuids, strict=True))
    }
    return "POST", "/allocations", bodies


def replaced_consumers(service, count):
    """Write many consumers with new owners; half of them lose all allocations."""
    method, path, bodies = new_consumers(service, count)
    expect(service.request(method, path, bodies), 204)
    changed = {
        consumer: {**body, "consumer_generation": 1, "project_id": "other"}
        for consumer, body in bodies.items()
    }
    for consumer in consumers(count // 2):
        changed[consumer]["allocations"] = {}
    return method, path, changed


def reshaped(service, count):
    """Move VCPU from each provider to its child, with the allocations."""
    parents = providers(service, count)
    children = [numbered("e", number) for number in range(count)]
    holders = consumers(count)
    for parent, child, holder in zip(parents, children, holders, strict=True):
        provider(service, child, parent)
        expect(service.put(f"/allocations/{holder}", holding({parent: {"VCPU": 3}})), 204)
    return (
        "POST",
        "/reshaper",
        {
            "inventories": {parent: stock(2) for parent in parents}
            | {child: stock(0, VCPU=100) for child in children},
            "allocations": {
                holder: holding({child: {"VCPU": 3}}, generation=1)
                for holder, child in zip(holders, children, strict=True)
            },
        },
    )


def tree(count, generation=None):
    """Return the body that writes ROOT and so many children."""
    uuids = [ROOT, *(numbered("d", number) for number in range(count))]
    providers = {
        uuid: {
            "generation": generation,
            "name": f"{uuid} {generation}",
            "parent_provider_uuid": ROOT if number else None,
            "inventories": {"VCPU": {"total": 100}, f"CUSTOM_{number}": {"total": 1}},
            "traits": ["HW_CPU_X86_AVX", f"CUSTOM_{number}"],
            "aggregates": [numbered("b", number)],
        }
        for number, uuid in reversed(list(enumerate(uuids)))
    }
    holders = consumers(count)
    allocations = {
        holder: holding({uuid: {"VCPU": 1}}, generation=None if generation is None else 1)
        for holder, uuid in zip(holders, uuids, strict=False)
    }
    return {"providers": providers, "allocations": allocations, "create_names": True}


def created_tree(service, count):
    return "PUT", f"/berth/v1/provider_trees/{ROOT}", tree(count)


def written_tree(service, count):
    """Write every provider of a tree anew, and move half of them below another one."""
    expect(service.request(*created_tree(service, count)), 200)
    body = tree(count, generation=1)
    for number in range(count // 2, count):
        change = body["providers"][numbered("d", number)]
        change["parent_provider_uuid"] = numbered("d", 0)
        change["traits"] = [f"CUSTOM_{number}"]
    return "PUT", f"/berth/v1/provider_trees/{ROOT}", body


def removed_tree(service, count):
    expect(service.request(*created_tree(service, count)), 200)
    body = {
        "remove": dict.fromkeys([ROOT, *(numbered("d", number) for number in range(count))], 1),
        "allocations": {holder: holding({}, generation=1) for holder in consumers(count)},
    }
    return "PUT", f"/berth/v1/provider_trees/{ROOT}", body


def joined_trees(service, count):
    """Move a chain of providers below another root."""
    chain(service, count)
    other = numbered("e", 1)
    provider(service, other)
    body = {"providers": {ROOT: {"generation": 0, "parent_provider_uuid": other}}}
    return "PUT", f"/berth/v1/provider_trees/{other}", body


def shown_inventories(service, count):
    method, path, body = replaced_inventories(service, count)
    expect(service.request(method, path, body), 200)
    return "GET", path, None


def shown_usages(service, count):
    shown_inventories(service, count)
    return "GET", f"{PATH}/usages", None


def shown_traits(service, count):
    deleted_traits(service, count)
    return "GET", f"{PATH}/traits", None


def shown_aggregates(service, count):
    method, path, body = replaced_aggregates(service, count)
    expect(service.request(method, path, body), 200)
    return "GET", path, None


def shown_allocations(service, count):
    method, path, body = new_allocations(service, count)
    expect(service.request(method, path, body), 204)
    return "GET", path, None


def shown_allocations_of_provider(service, count):
    provider(service)
    expect(service.put(f"{PATH}/inventories", stock(0, VCPU=100)), 200)
    for consumer in consumers(count):
        expect(service.put(f"/allocations/{consumer}", holding({ROOT: {"VCPU": 1}})), 204)
    return "GET", f"{PATH}/allocations", None


def listed_providers(service, count):
    providers(service, count)
    return "GET", "/resource_providers?resources=VCPU:1", None


def listed_tree(service, count):
    chain(service, count)
    return "GET", f"/resource_providers?in_tree={ROOT}", None


def listed_traits(service, count):
    trait_names(service, count)
    return "GET", "/traits?associated=false", None


def listed_classes(service, count):
    class_names(service, count)
    return "GET", "/resource_classes", None


def project_usages(service, count):
    method, path, bodies = new_consumers(service, count)
    for body in bodies.values():
        body["project_id"] = "p"
    expect(service.request(method, path, bodies), 204)
    return "GET", "/usages?project_id=p", None


#: PostgreSQL gets most of these in one message (`storage/at_once`); MySQL gets locks of several
#: rows and their deletion by their ids
OWN_STATEMENTS = (
    replaced_inventories,
    replaced_traits,
    replaced_aggregates,
    new_allocations,
    replaced_allocations,
    emptied_consumer,
    deleted_allocations,
    new_consumers,
    replaced_consumers,
    reshaped,
    removed_tree,
)
WRITES = [
    *OWN_STATEMENTS,
    deleted_inventories,
    deleted_traits,
    deleted_provider,
    moved_tree,
    created_tree,
    written_tree,
    joined_trees,
]
READS = [
    shown_inventories,
    shown_usages,
    shown_traits,
    shown_aggregates,
    shown_allocations,
    shown_allocations_of_provider,
    listed_providers,
    listed_tree,
    listed_traits,
    listed_classes,
    project_usages,
]


def where_they_differ(cases):
    """Return the cases: each runs on every database if one of them has statements of its own."""
    spread = pytest.mark.spread_over_databases
    return [
        pytest.param(case, id=case.__name__, marks=() if case in OWN_STATEMENTS else spread)
        for case in cases
    ]


def ran(service, request_):
    with statements(service.database) as found:
        response = service.request(*request_)
    assert response.status_code in (200, 204), response.text
    return found


@pytest.mark.parametrize("case", where_they_differ(WRITES + READS))
def test_more_rows_need_no_more_statements(case, new_service):
    few, many = new_service(), new_service()
    for_few = ran(few, case(few, FEW))
    for_many = ran(many, case(many, MANY))
    assert len(for_many) == len(for_few)


@pytest.mark.parametrize("case", where_they_differ(WRITES))
def test_a_write_is_one_transaction_without_a_read_after_it(case, service):
    found = ran(service, case(service, FEW))
    assert found.index(COMMIT) == len(found) - 1


def test_a_boot_needs_ten_to_twelve_statements(service, database_kind):
    """One statement for each purpose: read stored rows, insert new rows, update changed ones.

    MariaDB's UPDATE doesn't return the changed row, so the feed's lane is read first. PostgreSQL
    takes a place in the lane and appends to the feed in one statement.
    """
    request_ = new_allocations(service, 1)
    expect(service.put("/allocations/" + numbered("c", 99), {**request_[2]}), 204)
    counts = {"postgresql": 10, "sqlite": 11, "mariadb": 12}
    assert len([sql for sql in ran(service, request_) if sql != COMMIT]) == counts[database_kind]


#: tables that grow with the size of the cloud
GROWING = ("resource_providers", "inventories", "allocations", "consumers")


def renamed_provider(service, count):
    providers(service, count)
    provider(service)
    return "PUT", PATH, {"name": "other"}


ABOUT_SOME = [case for case in (*WRITES, *READS, renamed_provider) if case is not listed_providers]


@pytest.mark.parametrize("case", ABOUT_SOME, ids=lambda case: case.__name__)
def test_a_request_about_some_rows_scans_no_table(case, tmp_path):
    url = f"sqlite:///{tmp_path}/placement.db"
    service = Service(url)
    found = ran(service, case(service, FEW))
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        plans = [
            (sql, step)
            for sql in found
            if sql.startswith(("SELECT", "UPDATE", "DELETE"))
            for *_, step in connection.exec_driver_sql(
                f"EXPLAIN QUERY PLAN {sql}", (0,) * sql.count("?")
            )
        ]
    engine.dispose()
    assert [plan for plan in plans if _reads_all(plan[1])] == []


def _reads_all(step):
    words = step.split()
    return words[0] == "SCAN" and words[1] in GROWING and "USING" not in words
