"""A guest with NUMA cells is placed on the host cells that were allocated (compute.md §4.11)."""

import json

import pytest

from compute import exceptions
from compute.records.instance import Flavor, Instance
from compute.records.migration import Migration
from tests.functional.compute.device_hosts import CONTEXT
from virt.fake import MediumFakeDriver
from virt.inventory import record

HALF = Flavor(vcpus=2, memory_mb=1024, root_gb=1)


class CellsDriver(MediumFakeDriver):
    """Two cells, which have providers of their own, and a device at the first."""

    def get_available_resource(self, nodename):
        cells = [{"id": n, "cpus": [4 * n, 4 * n + 1], "memory_mb": 2048} for n in (0, 1)]
        near = {"address": "0000:81:00.0", "dev_type": "type-PCI", "numa_node": 0}
        return super().get_available_resource(nodename) | {
            "numa_topology": json.dumps({"cells": cells}),
            "pci_passthrough_devices": [near],
        }

    def update_provider_tree(self, tree, nodename, allocations=None):
        tree.update_inventory(nodename, {"DISK_GB": record(100)})
        for cell in (0, 1):
            name = f"{nodename}_numa{cell}"
            if not tree.exists(name):
                tree.new_child(name, nodename)
            tree.update_inventory(name, {"VCPU": record(2), "MEMORY_MB": record(2048)})


class CellsHost:
    def __init__(self, host, outsider, driver=CellsDriver):
        self.host, self.outsider = host, outsider
        host.conf.set_override("allocation_writer", "scheduler", "compute")
        host.start(driver)

    @property
    def rt(self):
        return self.host.manager.rt

    def guest(self, **fields):
        wanted = {"cells": [{"vcpus": 2, "memory_mb": 1024}]}
        fields = {"project_id": "project", "user_id": "user", "flavor": HALF, **fields}
        instance = Instance(**{"numa_topology": wanted, **fields})
        self.host.cell.instances.create(instance)
        return instance

    def scheduled(self, consumer, *cells):
        """Play the scheduler, who allocates of cells; return the allocations for a claim."""
        found = self.outsider.call("GET", f"/resource_providers?in_tree={self.host.uuid}")
        names = {row["name"]: row["uuid"] for row in found["resource_providers"]}
        share = {"VCPU": 2 // len(cells), "MEMORY_MB": 1024 // len(cells)}
        parts = {names[f"{self.host.name}_numa{cell}"]: share for cell in cells}
        self.outsider.allocate(parts | {self.host.uuid: {"DISK_GB": 1}}, consumer)
        return {uuid: {"resources": part} for uuid, part in parts.items()}

    def claim(self, guest, given=None):
        once = {"cpu_allocation_ratio": 1.0}
        self.rt.instance_claim(CONTEXT, guest, self.host.name, given, once)
        return cells_of(guest.numa_topology)


def cells_of(topology):
    return [cell["id"] for cell in topology["cells"]]


@pytest.fixture
def cells(host, outsider):
    return CellsHost(host, outsider)


@pytest.mark.parametrize("are_given", [True, False])
def test_the_claim_takes_the_cell_that_was_allocated(cells, are_given):
    guest = cells.guest()
    given = cells.scheduled(guest.uuid, 1)
    assert cells.claim(guest, given if are_given else None) == [1]


def test_a_cell_without_room_is_refused_and_the_error_tells_which(cells):
    first, second = cells.guest(), cells.guest()
    cells.claim(first, cells.scheduled(first.uuid, 1))
    cells.outsider.call("DELETE", f"/allocations/{first.uuid}")
    given = cells.scheduled(second.uuid, 1)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="within its cells 1"):
        cells.claim(second, given)


def test_a_guest_of_one_cell_goes_to_one_of_those_that_were_allocated(cells):
    guest = cells.guest()
    assert cells.claim(guest, cells.scheduled(guest.uuid, 0, 1)) == [0]


def test_a_guest_of_two_cells_is_not_refused_for_an_allocation_of_one(cells):
    # placement gives a class as a whole, so a scheduler can't allocate of both
    guest = cells.guest(numa_topology={"cells": [{"vcpus": 1, "memory_mb": 512}] * 2})
    assert cells.claim(guest, cells.scheduled(guest.uuid, 1)) == [0, 1]


def test_a_device_far_from_the_allocated_cell_is_refused(cells):
    guest = cells.guest(pci_requests=[{"count": 1, "spec": [{"dev_type": "type-PCI"}]}])
    given = cells.scheduled(guest.uuid, 1)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="pci"):
        cells.claim(guest, given)


def test_a_guest_that_is_claimed_again_does_not_stand_in_its_own_way(cells):
    guest = cells.guest()
    given = cells.scheduled(guest.uuid, 1)
    assert cells.claim(guest, given) == cells.claim(guest, given) == [1]


@pytest.mark.parametrize("are_given", [True, False])
def test_a_resize_on_its_host_goes_to_the_cell_of_its_new_share(cells, are_given):
    guest = cells.guest()
    cells.claim(guest, cells.scheduled(guest.uuid, 1))
    guest.vm_state, guest.task_state = "active", "resize_prep"
    migration = Migration(
        guest.uuid,
        migration_type="resize",
        source_compute=cells.host.name,
        source_node=cells.host.name,
    )
    cells.host.cell.migrations.create(migration)
    assert cells.rt.reportclient.move_allocations(CONTEXT, guest.uuid, migration.uuid)
    given = cells.scheduled(guest.uuid, 0)
    cells.rt.resize_claim(
        CONTEXT, guest, HALF, cells.host.name, migration, given if are_given else None
    )
    context = guest.migration_context
    assert cells_of(context.old_numa_topology) == [1]
    assert cells_of(context.new_numa_topology) == [0]


class FlatDriver(CellsDriver):
    """Its cells have no providers."""

    def update_provider_tree(self, tree, nodename, allocations=None):
        MediumFakeDriver.update_provider_tree(self, tree, nodename)


@pytest.mark.parametrize(
    ("driver", "fields", "cells"),
    [
        pytest.param(FlatDriver, {}, [0], id="none in placement"),
        pytest.param(CellsDriver, {"numa_topology": None}, None, id="none of the guest"),
    ],
)
def test_without_cells_nobody_is_asked_about_them(host, outsider, driver, fields, cells):
    flat = CellsHost(host, outsider, driver)
    guest = flat.guest(**fields)
    host.adapter.requests.clear()
    flat.rt.instance_claim(CONTEXT, guest, host.name, None)
    assert (guest.numa_topology and cells_of(guest.numa_topology)) == cells
    assert not [sent for sent in host.adapter.requests if "/allocations/" in sent[1]]
