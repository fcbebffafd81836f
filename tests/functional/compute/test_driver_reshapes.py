"""Reshapes of the drivers that come with the library (compute.md §9.3, R4, R21, R24, R25)."""

from functools import partial
from uuid import uuid4

import pytest

from compute import exceptions
from tests.functional.compute.compute_host import SpreadingDriver
from tests.functional.compute.outsider import tree_of
from virt.fake import (
    FakeNUMAReshapeDriver,
    FakeRCRenameDriver,
    FakeReshapeVGPUDriver,
    MediumFakeDriver,
)

SERVER = {"DISK_GB": 20, "MEMORY_MB": 2048, "VCPU": 2}
PGPUS = {"pci_0": 1, "pci_1": 1, "pci_2": 1}


class LateSpreadingDriver(SpreadingDriver):
    """Has nothing at the start; lays out its providers when it is told to."""

    ready = False

    def update_provider_tree(self, tree, nodename, **kwargs):
        if self.ready:
            super().update_provider_tree(tree, nodename, **kwargs)


def test_r4_a_periodic_update_lays_out_what_needs_no_reshape(host, outsider):
    host.start(LateSpreadingDriver)
    host.driver.ready = True
    assert host.update().failures == {}
    assert len(tree_of(outsider, host)) == 7
    assert outsider.aggregates(host.driver.pool) == outsider.aggregates(host.uuid)


class TestVGPU:
    """R21."""

    @pytest.fixture
    def flat(self, host):
        host.start(partial(FakeReshapeVGPUDriver, nested=False, pgpus=PGPUS))
        return host

    def nest(self, host, mdevs):
        host.start(partial(FakeReshapeVGPUDriver, nested=True, pgpus=PGPUS, mdevs=mdevs))

    def test_r21_each_guests_vgpu_moves_to_the_card_it_is_on(self, flat, outsider):
        first, second = (outsider.allocate({flat.uuid: {**SERVER, "VGPU": 1}}) for _ in range(2))
        self.nest(flat, {first: {"pci_0": 1}, second: {"pci_2": 1}})
        tree = tree_of(outsider, flat)
        assert "VGPU" not in outsider.totals(flat.uuid)
        assert {outsider.totals(tree[card])["VGPU"] for card in PGPUS} == {1}
        assert outsider.allocations(first) == {flat.uuid: SERVER, tree["pci_0"]: {"VGPU": 1}}
        assert outsider.allocations(second) == {flat.uuid: SERVER, tree["pci_2"]: {"VGPU": 1}}

    def test_r21_a_consumer_without_devices_fails_it_and_ends_the_service(self, flat, outsider):
        consumer = outsider.allocate({flat.uuid: {"VGPU": 1}})
        with pytest.raises(exceptions.ReshapeFailed):
            self.nest(flat, {})
        assert outsider.allocations(consumer) == {flat.uuid: {"VGPU": 1}}

    def test_r21_what_the_guest_really_has_counts(self, flat, outsider, caplog):
        consumer = outsider.allocate({flat.uuid: {**SERVER, "VGPU": 2}})
        self.nest(flat, {consumer: {"pci_1": 1}})
        tree = tree_of(outsider, flat)
        assert outsider.allocations(consumer) == {flat.uuid: SERVER, tree["pci_1"]: {"VGPU": 1}}
        assert consumer in caplog.text

    def test_r21_a_consumer_of_a_vgpu_alone_leaves_no_empty_allocation(self, flat, outsider):
        consumer = outsider.allocate({flat.uuid: {"VGPU": 1}})
        self.nest(flat, {consumer: {"pci_1": 1}})
        assert outsider.allocations(consumer) == {tree_of(outsider, flat)["pci_1"]: {"VGPU": 1}}


def test_r24_a_renamed_class_takes_its_allocations_along_once(host, outsider):
    host.start(partial(FakeRCRenameDriver, renamed=False))
    consumer = outsider.allocate({host.uuid: {"CUSTOM_FPGA": 2, "VCPU": 1}})
    host.start(FakeRCRenameDriver)
    reshapes = [host.moves()]
    host.start(FakeRCRenameDriver)
    reshapes.append(host.moves())
    totals = outsider.totals(host.uuid)
    assert (totals["FPGA"], "CUSTOM_FPGA" in totals) == (4, False)
    assert outsider.allocations(consumer) == {host.uuid: {"FPGA": 2, "VCPU": 1}}
    assert reshapes == [1, 0]


def test_r25_what_a_migration_holds_moves_to_a_cell_too(host, outsider):
    host.start(MediumFakeDriver)
    instance = outsider.allocate({host.uuid: {"VCPU": 1, "MEMORY_MB": 512}})
    migration = outsider.allocate({host.uuid: {"VCPU": 2, "MEMORY_MB": 1024}}, str(uuid4()))
    host.start(FakeNUMAReshapeDriver)
    cells = {uuid for name, uuid in tree_of(outsider, host).items() if name.startswith("numa")}
    for consumer in (instance, migration):
        assert set(outsider.allocations(consumer)) <= cells
    amounts = outsider.allocations(migration).values()
    assert sum(part.get("VCPU", 0) for part in amounts) == 2
