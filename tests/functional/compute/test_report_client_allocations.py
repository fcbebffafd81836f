"""Deleting and writing allocations, deleting a node.

See compute.md §3.10–3.11, scenarios C21 and C24.
"""

import logging
from types import SimpleNamespace
from uuid import uuid4

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions

SHARES = "MISC_SHARES_VIA_AGGREGATE"


@pytest.fixture
def provider(outsider):
    return outsider.provider(inventory={"VCPU": {"total": 4}})


# C21


@pytest.mark.parametrize("force", [True, False])
def test_c21_existing_allocations_are_deleted(client, context, outsider, provider, force):
    consumer = outsider.allocate({provider: {"VCPU": 1}})
    assert client.delete_allocation_for_instance(context, consumer, force=force) is True
    assert outsider.allocations(consumer) == {}


@pytest.mark.parametrize("force", [True, False])
def test_c21_no_allocations_to_delete_is_no_reason_to_warn(client, context, caplog, force):
    with caplog.at_level(logging.WARNING):
        assert client.delete_allocation_for_instance(context, str(uuid4()), force=force) is False
    assert caplog.records == []


def test_c21_a_consumer_that_changes_amid_the_deletion_keeps_its_allocations(
    client, context, outsider, provider, placement_adapter
):
    consumer = outsider.allocate({provider: {"VCPU": 1}})

    def change(method, url):
        if method == "PUT":
            outsider.allocate({provider: {"VCPU": 2}}, consumer)

    placement_adapter.before = change
    with pytest.raises(exceptions.AllocationDeleteFailed):
        client.delete_allocation_for_instance(context, consumer)
    assert outsider.allocations(consumer) == {provider: {"VCPU": 2}}


def test_a_refused_forced_deletion_is_a_failed_one(
    client, context, outsider, provider, placement_adapter
):
    consumer = outsider.allocate({provider: {"VCPU": 1}})
    placement_adapter.additional_headers["x-roles"] = "nobody"
    with pytest.raises(exceptions.AllocationDeleteFailed):
        client.delete_allocation_for_instance(context, consumer, force=True)


def test_nothing_is_deleted_when_placement_is_unreachable(client, context, placement_adapter):
    def lost(method, url):
        raise ksa_exc.ConnectFailure("gone")

    placement_adapter.before = lost
    assert client.delete_allocation_for_instance(context, str(uuid4()), force=True) is None


# put_allocations


def payload(provider, amount, generation=None):
    return {
        "allocations": {provider: {"resources": {"VCPU": amount}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": generation,
    }


def test_allocations_are_put(client, context, outsider, provider, placement_adapter):
    consumer = str(uuid4())
    assert client.put_allocations(context, consumer, payload(provider, 2)) is True
    assert outsider.allocations(consumer) == {provider: {"VCPU": 2}}
    assert placement_adapter.requests == [("PUT", f"/allocations/{consumer}", "1.28")]


def test_more_than_there_is_is_not_put(client, context, outsider, provider):
    consumer = str(uuid4())
    assert client.put_allocations(context, consumer, payload(provider, 5)) is False
    assert outsider.allocations(consumer) == {}


def test_a_consumer_that_was_to_be_new_and_isnt_is_a_failed_update(
    client, context, outsider, provider
):
    consumer = outsider.allocate({provider: {"VCPU": 1}})
    with pytest.raises(exceptions.AllocationUpdateFailed, match="consumer generation conflict"):
        client.put_allocations(context, consumer, payload(provider, 2))


def test_an_unreachable_placement_is_a_connect_failure(
    client, context, provider, placement_adapter
):
    def lost(method, url):
        raise ksa_exc.ConnectTimeout("gone")

    placement_adapter.before = lost
    with pytest.raises(exceptions.PlacementAPIConnectFailure):
        client.put_allocations(context, str(uuid4()), payload(provider, 2))


# C24


@pytest.fixture
def node(outsider):
    """Make a nested tree with a shared disk, two instances in it, and one that moved away."""
    aggregate = str(uuid4())
    node = SimpleNamespace(host="host", hypervisor_hostname=f"node-{uuid4()}", uuid=str(uuid4()))
    outsider.provider(node.hypervisor_hostname, uuid=node.uuid, aggregates=[aggregate])
    node.child = outsider.provider(parent=node.uuid, inventory={"VCPU": {"total": 8}})
    node.grandchild = outsider.provider(parent=node.child, inventory={"VGPU": {"total": 8}})
    node.ssp = outsider.provider(
        inventory={"DISK_GB": {"total": 500}}, traits=[SHARES], aggregates=[aggregate]
    )
    node.elsewhere = outsider.provider(inventory={"VCPU": {"total": 8}}, aggregates=[aggregate])
    node.i1 = outsider.allocate({node.child: {"VCPU": 1}, node.ssp: {"DISK_GB": 5}})
    node.i2 = outsider.allocate({node.grandchild: {"VGPU": 1}})
    node.gone = outsider.allocate(
        {node.child: {"VCPU": 1}, node.elsewhere: {"VCPU": 1}, node.ssp: {"DISK_GB": 5}}
    )
    return node


@pytest.mark.parametrize("told", [True, False])
def test_c24_a_node_goes_with_its_allocations_and_child_first(
    client, context, outsider, node, placement_adapter, told
):
    who = {"instances": [node.i1, node.i2], "evacuated": [node.gone]} if told else {}
    client.delete_resource_provider(context, node, cascade=True, **who)
    assert outsider.allocations(node.i1) == outsider.allocations(node.i2) == {}
    assert outsider.allocations(node.gone) == {
        node.elsewhere: {"VCPU": 1},
        node.ssp: {"DISK_GB": 5},
    }
    deleted = [url for method, url, _ in placement_adapter.requests if method == "DELETE"]
    assert deleted[-3:] == [
        f"/resource_providers/{uuid}" for uuid in (node.grandchild, node.child, node.uuid)
    ]
    assert not outsider.exists(node.uuid)
    assert outsider.exists(node.ssp)


def test_without_cascade_providers_in_use_stay(client, context, outsider, node):
    client.delete_resource_provider(context, node)
    assert outsider.exists(node.uuid)
    assert outsider.exists(node.child)
    assert not client.cache.tree.exists(node.uuid)


@pytest.mark.parametrize("cascade", [True, False])
def test_deleting_a_node_that_placement_doesnt_know_is_fine(client, context, cascade):
    unknown = SimpleNamespace(host="host", hypervisor_hostname="unknown", uuid=str(uuid4()))
    client.delete_resource_provider(context, unknown, cascade=cascade)
    assert client.cache.tree.get_provider_uuids() == []


def test_deleting_a_node_without_placement_is_a_client_exception(
    client, context, node, placement_adapter
):
    def lost(method, url):
        raise ksa_exc.ConnectFailure("gone")

    placement_adapter.before = lost
    with pytest.raises(ksa_exc.ClientException):
        client.delete_resource_provider(context, node)


def test_a_consumer_without_allocations_has_no_tree_to_remove(client, context, node):
    assert (
        client.remove_provider_tree_from_instance_allocation(context, str(uuid4()), node.uuid)
        is False
    )


def test_a_consumer_that_isnt_in_the_tree_is_left_alone(
    client, context, node, outsider, placement_adapter
):
    consumer = outsider.allocate({node.elsewhere: {"VCPU": 1}})
    assert client.remove_provider_tree_from_instance_allocation(context, consumer, node.uuid)
    assert placement_adapter.writes == []
