"""`audit` and `tree` of a whole cloud: how many requests, where placement offers whole trees.

The number doesn't grow with trees, consumers or suspects, and what is found is what single requests
find.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from compute import config
from compute.maintenance.audit import audit, audit_reads
from compute.maintenance.audit.audit import Auditor
from compute.maintenance.provider_details import find_roots, read_trees
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.compute_node import ComputeNode
from compute.records.instance import Instance
from compute.records.migration import REVERTED, Migration
from compute.report import SchedulerReportClient
from compute.report.trees import whole_trees
from tests.functional.conftest import own_service

HOST = "host1"
SHARES = "MISC_SHARES_VIA_AGGREGATE"
INVENTORY = {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 8192}}


@pytest.fixture
def placement_http(tmp_path):
    """Reach a placement of this test's own: the commands read all that there is."""
    with own_service(tmp_path, extensions=True) as client:
        yield client.session.session, client.get_endpoint()


@pytest.fixture
def cell():
    return MemoryCellDatabase()


@pytest.fixture
def grow(outsider, cell):
    """Return a function that adds to the cloud one of everything that an audit may meet."""
    pool = outsider.provider("pool", inventory={"DISK_GB": {"total": 999}}, traits=[SHARES])
    cell.instances.create(Instance(deleted=True))

    def instance(holds, **fields):
        made = Instance(**({"host": HOST, "vm_state": "active"} | fields))
        cell.instances.create(made)
        if holds:
            outsider.allocate(holds, made.uuid)
        return made

    def add(name):
        root = outsider.provider(name, inventory=INVENTORY)
        child = outsider.provider(f"{name}_child", root, {"VGPU": {"total": 64}})
        strange = outsider.provider(f"strange-{name}", inventory=INVENTORY)
        cell.compute_nodes.create(ComputeNode(root, HOST, name))
        here = {root: {"VCPU": 1}, pool: {"DISK_GB": 1}}
        instance(here, node=name)
        # leftovers
        instance(here, node=name, deleted=True)
        instance({root: {"VCPU": 1}, strange: {"VCPU": 1}}, host="host2", node="host2")
        outsider.allocate({root: {"VCPU": 1}, child: {"VGPU": 1}})
        outsider.allocate({strange: {"VCPU": 1}}, consumer_type="CUSTOMER")
        # a migration that holds what its instance hasn't got back, and one whose instance has
        for holds in ({}, {root: {"VCPU": 1}}):
            back = instance(holds, node=name)
            move = Migration(back.uuid, status=REVERTED, source_compute=HOST, source_node=name)
            cell.migrations.create(move)
            outsider.allocate({root: {"VCPU": 1}}, move.uuid, "MIGRATION")
        return root

    return add


def audited(client, context, cell, provider=None):
    """Return what an audit finds, without ages."""
    hypervisor = SimpleNamespace(list_instance_uuids=list)
    auditor = Auditor(client, context, cell, HOST, lambda: hypervisor)
    found = auditor.orphans(provider, everything=provider is None)
    return [replace(orphan, age=None) for orphan in found]


def one_by_one(new_adapter):
    conf = config.load(files=[], environ={}, overrides={("berth", "whole_trees"): False})
    return SchedulerReportClient(new_adapter(), conf=conf)


def sent(adapter):
    return [(method, url.partition("?")[0]) for method, url, _ in adapter.requests]


LIST = ("GET", "/resource_providers")
HELD = ("POST", "/berth/v1/allocations/query")
TREES = ("GET", "/berth/v1/provider_trees")


def test_an_audit_asks_as_often_for_many_suspects_as_for_few(
    client, context, cell, grow, new_adapter, placement_adapter
):
    for names in (["a"], ["b", "c", "d"]):
        for name in names:
            grow(name)
        placement_adapter.requests.clear()
        found = audited(client, context, cell)
        # providers; who holds something of them; which share; what the suspects hold elsewhere
        assert sent(placement_adapter) == [LIST, HELD, LIST, HELD]
        assert found == audited(one_by_one(new_adapter), context, cell)
    assert len({orphan.consumer for orphan in found}) == 4 * 5
    assert len({orphan.verdict.kind for orphan in found}) == 5


def test_an_audit_of_many_providers_asks_page_by_page(
    client, context, cell, grow, new_adapter, placement_adapter, monkeypatch
):
    for name in "abc":
        grow(name)
    monkeypatch.setattr(audit, "PROVIDERS_AT_ONCE", 5)
    monkeypatch.setattr(audit_reads, "CONSUMERS_AT_ONCE", 10)
    found = audited(client, context, cell)
    # ten providers are two pages
    assert sent(placement_adapter).count(LIST) <= 1 + 2
    assert len(sent(placement_adapter)) <= 1 + 2 * 4
    assert found == audited(one_by_one(new_adapter), context, cell)


def test_an_audit_of_one_provider_reads_the_others_of_its_consumers_together(
    client, context, cell, grow, new_adapter, placement_adapter, outsider
):
    grow("a")
    pool = outsider.call("GET", "/resource_providers?name=pool")["resource_providers"][0]["uuid"]
    for name in ("b", "c"):
        grow(name)
    found = audited(client, context, cell, pool)
    assert sent(placement_adapter) == [LIST, HELD, LIST, HELD, TREES]
    assert found == audited(one_by_one(new_adapter), context, cell, pool)
    assert len(found) == 3


def test_an_audit_goes_on_singly_where_another_placement_answers_in_between(
    client, context, cell, grow, new_adapter, placement_adapter
):
    grow("a")
    posts = []

    def only_the_first(method, url):
        if url.startswith("/berth"):
            posts.append(url)
            if len(posts) > 1:
                return client.get("/nothing/here")
        return None

    placement_adapter.before = only_the_first
    found = audited(client, context, cell)
    assert len(posts) == 2
    assert found == audited(one_by_one(new_adapter), context, cell)


def test_all_trees_are_shown_page_by_page_in_the_order_of_their_names(
    client, context, grow, new_adapter, placement_adapter, monkeypatch
):
    for name in "cab":
        grow(name)
    single = one_by_one(new_adapter)
    shown = list(read_trees(single, context, find_roots(single, context)))
    for size, pages in ((100, 1), (3, 3)):
        monkeypatch.setattr("compute.maintenance.provider_details.NAMES_OF_REQUEST", size)
        monkeypatch.setattr(whole_trees, "NAMES_OF_REQUEST", size)
        placement_adapter.requests.clear()
        assert list(read_trees(client, context, find_roots(client, context))) == shown
        assert sent(placement_adapter) == [LIST, *[TREES] * pages]
    assert [tree[0].name for tree in shown][:3] == ["a", "b", "c"]
    assert all(len(url) < 8000 for _, url, _ in placement_adapter.requests)


@pytest.mark.parametrize("whole", [True, False])
def test_a_tree_that_is_gone_before_it_is_read_is_left_out(
    client, context, grow, outsider, new_adapter, whole
):
    grow("a")
    asked = client if whole else one_by_one(new_adapter)
    roots = find_roots(asked, context)
    gone = outsider.provider("gone")
    outsider.call("DELETE", f"/resource_providers/{gone}")
    assert [tree[0].uuid for tree in read_trees(asked, context, [gone, *roots])] == roots
