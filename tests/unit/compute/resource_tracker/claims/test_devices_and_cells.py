"""A guest with NUMA cells and PCI devices has both together (compute.md §4.11)."""

import json
from types import SimpleNamespace

import pytest

from compute import exceptions
from compute.resource_tracker.claims.device_choice import DeviceChoice
from tests.unit.compute.resource_tracker.equipped_host import (
    CONTEXT,
    HOST,
    TINY,
    EquippedDriver,
    update,
)

FIRST, SECOND, THIRD = (f"0000:0{n}:00.0" for n in (1, 2, 3))


def cell(number, socket):
    return {"id": number, "cpus": [0, 1, 2, 3], "memory_mb": 4096, "socket": socket}


class Driver(EquippedDriver):
    """Four cells on two sockets, and devices at two of them and at none."""

    cells = (cell(0, 0), cell(1, 0), cell(2, 1), cell(3, 1))
    places = ((FIRST, 1, "near"), (SECOND, 2, "far"), (THIRD, None, "nowhere"))

    def get_available_resource(self, nodename):
        devices = [
            {"address": address, "dev_type": "type-PCI", "numa_node": place, "kind": kind}
            for address, place, kind in self.places
        ]
        return super().get_available_resource(nodename) | {
            "numa_topology": json.dumps({"cells": self.cells}),
            "pci_passthrough_devices": devices,
        }


@pytest.fixture
def claimed(new_tracker, make):
    """Return a function that claims, and returns the guest's host cells and its devices."""
    tracker = new_tracker(Driver)
    update(tracker)

    def claim(*requests, cells=1, vcpus=2, limits=None):
        wanted = {"cells": [{"vcpus": vcpus, "memory_mb": 512}] * cells}
        instance = make(numa_topology=wanted, pci_requests=list(requests))
        tracker.instance_claim(CONTEXT, instance, HOST, limits=limits)
        placed = [one["id"] for one in instance.numa_topology["cells"]]
        return placed, [device["address"] for device in instance.pci_devices]

    claim.tracker = tracker
    return claim


def wants(kind=None, policy=None):
    spec = [{"kind": kind}] if kind else [{}]
    return {"count": 1, "spec": spec} | ({"numa_policy": policy} if policy else {})


@pytest.mark.parametrize("policy", [None, "legacy", "required", "preferred"])
def test_a_guest_is_placed_where_its_device_is(claimed, policy):
    assert claimed(wants("far", policy)) == ([2], [SECOND])


def test_a_guest_with_two_cells_has_its_devices_at_these(claimed):
    assert claimed(wants("near"), wants("far"), cells=2) == ([1, 2], [FIRST, SECOND])


def test_a_guest_with_one_cell_cannot_have_devices_of_two(claimed):
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="NUMA"):
        claimed(wants("near"), wants("far"))
    assert claimed(wants("near"), wants("far", "preferred")) == ([1], [FIRST, SECOND])


def test_where_the_cell_is_full_the_claim_is_refused_unless_the_device_may_be_far(claimed):
    once = {"cpu_allocation_ratio": 1.0}
    claimed(wants("near"), vcpus=4, limits=once)
    update(claimed.tracker)
    claimed.tracker.driver.places = [*Driver.places, ("0000:04:00.0", 1, "near")]
    update(claimed.tracker)
    for policy in ("legacy", "required"):
        with pytest.raises(exceptions.ComputeResourcesUnavailable, match=r"pci.*NUMA"):
            claimed(wants("near", policy), limits=once)
    assert claimed(wants("near", "socket"), limits=once) == ([0], ["0000:04:00.0"])


def test_a_device_of_which_nobody_knows_the_cell_is_near_by_legacy_alone(claimed):
    for policy in ("required", "socket"):
        with pytest.raises(exceptions.ComputeResourcesUnavailable):
            claimed(wants("nowhere", policy))
    assert claimed(wants("nowhere")) == ([0], [THIRD])


def test_of_two_devices_the_one_with_a_cell_is_taken_where_it_has_to_be_near(claimed):
    assert claimed(wants(policy="required")) == ([1], [FIRST])


@pytest.mark.parametrize("kind", [dict, SimpleNamespace])
def test_limits_of_cells_are_heeded_as_nova_sends_them(claimed, kind):
    ratios = {"cpu_allocation_ratio": 4.0, "ram_allocation_ratio": 1.0}
    with pytest.raises(exceptions.ComputeResourcesUnavailable):
        claimed(vcpus=6, limits={"numa_topology": kind(**ratios | {"cpu_allocation_ratio": 1.0})})
    assert claimed(vcpus=6, limits={"numa_topology": kind(**ratios)}) == ([0], [])


def test_a_resize_is_placed_where_its_device_is(claimed, make):
    wanted = {"cells": [{"vcpus": 2, "memory_mb": 512}]}
    instance = make(
        numa_topology=wanted, pci_requests=[wants("far")], host="other", node="other", flavor=TINY
    )
    claimed.tracker.resize_claim(CONTEXT, instance, TINY, HOST, None, None)
    assert instance.migration_context.new_numa_topology["cells"][0]["id"] == 2


def test_what_is_reserved_of_a_device_provider_is_no_room():
    records = {"inventories": {"GPU": {"total": 4, "reserved": 1}}}
    held = {"consumer": {"resources": {"GPU": 2}}}
    client = SimpleNamespace(
        get=lambda url: SimpleNamespace(status_code=200, json=lambda: records),
        get_allocations_for_resource_provider=lambda *_: SimpleNamespace(allocations=held),
    )
    notes = SimpleNamespace(forget_all_but=lambda *_: None)
    place = SimpleNamespace(name="card", resource_class="GPU", addresses=range(4))
    assert DeviceChoice(None, client, None, notes).room_of(CONTEXT, "u", place) == 1
