"""The report client with a service in its own process, on every database (compute.md §7.5)."""

import copy
import uuid

import pytest

from compute import config as compute_config
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from placement import config
from placement.direct import PlacementDirect
from tests.service_settings import UNTIMED

NODE = str(uuid.uuid4())
CHILD = str(uuid.uuid4())
INSTANCE = str(uuid.uuid4())


@pytest.fixture
def direct(new_database):
    """Return the service in this process."""
    overrides = {
        **UNTIMED,
        ("placement_database", "connection"): new_database(),
        ("placement_database", "sync_on_startup"): True,
    }
    conf = config.load(files=[], environ=False, overrides=overrides)
    with PlacementDirect(conf) as adapter:
        yield adapter


@pytest.fixture
def client(direct):
    conf = compute_config.load(files=[], environ={})
    return SchedulerReportClient(adapter=direct, conf=conf)


@pytest.fixture
def context():
    return admin_context()


@pytest.fixture
def node(client, context):
    """Return a node with processors and memory, some of which an instance has allocated."""
    tree = client.get_provider_tree_and_ensure_root(context, NODE, name="node")
    tree.update_inventory(NODE, {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 4096}})
    tree.update_traits(NODE, ["CUSTOM_FAST"])
    client.update_from_provider_tree(context, tree)
    claimed = client.put_allocations(
        context,
        INSTANCE,
        {"allocations": {NODE: {"resources": {"VCPU": 2, "MEMORY_MB": 512}}}}
        | {"project_id": "p", "user_id": "u", "consumer_generation": None},
    )
    assert claimed
    client.clear_provider_cache()
    return client.get_provider_tree_and_ensure_root(context, NODE, name="node")


def test_the_adapter_keeps_its_headers(client, direct):
    assert direct.additional_headers == {
        "x-auth-token": "admin",
        "x-roles": "admin,service",
        "accept": "application/json",
    }


def test_a_tree_is_written_and_read_back(node):
    data = node.data(NODE)
    assert set(data.inventory) == {"VCPU", "MEMORY_MB"}
    assert data.traits == {"CUSTOM_FAST"}


def test_a_reshape_moves_inventory_and_allocations(client, context, node, direct):
    held = client.get_allocations_for_provider_tree(context, "node")
    wanted = copy.deepcopy(node)
    wanted.new_child("numa0", NODE, uuid=CHILD)
    wanted.update_inventory(NODE, {"MEMORY_MB": {"total": 4096}})
    wanted.update_inventory(CHILD, {"VCPU": {"total": 8}})
    taken = held[INSTANCE]["allocations"]
    taken[CHILD] = {"resources": {"VCPU": taken[NODE]["resources"].pop("VCPU")}}

    client.update_from_provider_tree(context, wanted, allocations=held)

    found = direct.get(f"/allocations/{INSTANCE}", microversion="1.39").json()["allocations"]
    assert {key: held["resources"] for key, held in found.items()} == {
        NODE: {"MEMORY_MB": 512},
        CHILD: {"VCPU": 2},
    }


def test_no_socket_is_opened(no_sockets, tmp_path, context):
    overrides = {
        **UNTIMED,
        ("placement_database", "connection"): f"sqlite:///{tmp_path}/placement.db",
        ("placement_database", "sync_on_startup"): True,
    }
    conf = config.load(files=[], environ=False, overrides=overrides)
    with PlacementDirect(conf) as adapter:
        client = SchedulerReportClient(adapter=adapter)
        tree = client.get_provider_tree_and_ensure_root(context, NODE, name="node")
        tree.update_inventory(NODE, {"VCPU": {"total": 8}})
        client.update_from_provider_tree(context, tree)
        answer = adapter.get(f"/resource_providers/{NODE}/inventories").json()
    assert answer["inventories"]["VCPU"]["total"] == 8
