"""The libvirt driver's reshapes through tracker, client and service (compute.md §6.5–§6.9)."""

from functools import partial
from uuid import uuid4

import pytest

from compute import exceptions
from compute.provider_tree import Resource
from compute.records.instance import Instance
from tests.functional.compute.libvirt_host import (
    DISK_AND_CPU,
    NETWORK,
    SERVER,
    elsewhere,
    flat,
    known,
    migrating,
    places_of,
    pool,
    start,
)
from tests.functional.compute.outsider import tree_of
from tests.unit.virt.libvirt.older_driver import OlderDriver
from tests.unit.virt.node.hosts import (
    FACTS,
    GPUS,
    TYPE,
    floating,
    mdev_uuid,
    mediated,
    network_card,
    pinned,
)
from virt.node.facts import Processor

__all__ = ["elsewhere", "flat", "known", "pool", "start"]


class TestPCPU:
    """R26."""

    OPTIONS = {"compute__cpu_shared_set": "0-3", "compute__cpu_dedicated_set": "4-7"}

    def test_r26_pinned_guests_and_their_migrations_get_pcpu(
        self, flat, start, known, outsider, elsewhere, pool
    ):
        first = outsider.allocate(
            {flat.uuid: {"VCPU": 2, "MEMORY_MB": 512}, pool: {"DISK_GB": 5}, elsewhere: {"VCPU": 2}}
        )
        migration = migrating(flat, outsider, first, {flat.uuid: {"VCPU": 2}})
        ended = migrating(flat, outsider, first, {flat.uuid: {"VCPU": 1}}, "completed")
        second = outsider.allocate({flat.uuid: {"VCPU": 1}})
        known.there = [pinned(first, [4, 5]), floating(second)]
        start(**self.OPTIONS)
        assert outsider.allocations(first) == {
            flat.uuid: {"PCPU": 2, "MEMORY_MB": 512},
            pool: {"DISK_GB": 5},
            elsewhere: {"VCPU": 2},
        }
        assert outsider.allocations(migration) == {flat.uuid: {"PCPU": 2}}
        assert outsider.allocations(ended) == {flat.uuid: {"VCPU": 1}}
        assert outsider.allocations(second) == {flat.uuid: {"VCPU": 1}}
        assert outsider.totals(flat.uuid)["PCPU"] == 4
        reshapes = [flat.moves()]
        start()
        assert [*reshapes, flat.moves()] == [1, 0]

    def test_dedicated_processors_of_nobody_are_new_inventory_at_any_time(
        self, flat, known, outsider
    ):
        known.there = [floating(str(uuid4()))]
        flat.conf.set_override("cpu_dedicated_set", "4-7", "compute")
        assert flat.update().failures == {}
        assert outsider.totals(flat.uuid)["PCPU"] == 4

    def test_r6_pinned_guests_need_a_restart(self, flat, known, outsider):
        guest = outsider.allocate({flat.uuid: {"VCPU": 1}})
        known.there = [pinned(guest, [4])]
        flat.conf.set_override("cpu_dedicated_set", "4-7", "compute")
        sent = len(flat.adapter.writes)
        with pytest.raises(exceptions.ReshapeNeeded):
            flat.update()
        assert flat.adapter.writes[sent:] == []


class TestMemoryEncryption:
    @pytest.fixture
    def older(self, host, start):
        start(partial(OlderDriver, former={"MEM_ENCRYPTION_CONTEXT": 4}))
        return host

    def test_contexts_move_to_a_child_with_the_trait(self, older, start, known, outsider):
        host, traits = older, {"HW_CPU_X86_AMD_SEV"}
        outsider.set_traits(host.uuid, outsider.traits(host.uuid) | traits)
        consumers = [
            outsider.allocate({host.uuid: {"MEM_ENCRYPTION_CONTEXT": 1}}),
            outsider.allocate({host.uuid: {**SERVER, "MEM_ENCRYPTION_CONTEXT": 1}}),
        ]
        known.change(encryption_slots={"amd_sev": 4, "amd_sev_es": 8})
        start()
        tree = tree_of(outsider, host)
        sev = tree["amd_sev"]
        assert outsider.inventory(sev)["MEM_ENCRYPTION_CONTEXT"]["max_unit"] == 1
        assert (outsider.traits(sev), outsider.totals(tree["amd_sev_es"])) == (
            traits | {"OWNER_NOVA"},
            {"MEM_ENCRYPTION_CONTEXT": 8},
        )
        assert not outsider.traits(host.uuid) & traits
        assert [outsider.allocations(one) for one in consumers] == [
            {sev: {"MEM_ENCRYPTION_CONTEXT": 1}},
            {host.uuid: SERVER, sev: {"MEM_ENCRYPTION_CONTEXT": 1}},
        ]

    def test_a_guest_that_wants_sev_snp_gets_no_slot_of_sev_es(self, host, start, known, outsider):
        processor = Processor("AuthenticAMD", "", frozenset({"sev", "sev_es", "sev_snp"}), 1)
        known.change(processor=processor, encryption_slots={"amd_sev": 4, "amd_sev_es": 8})
        start()
        wanted = "HW_CPU_X86_AMD_SEV_SNP"
        query = f"resources=MEM_ENCRYPTION_CONTEXT:1&required={wanted}&in_tree={host.uuid}"
        assert places_of(outsider, query) == []
        es = tree_of(outsider, host)["amd_sev_es"]
        guest = outsider.allocate({host.uuid: SERVER, es: {"MEM_ENCRYPTION_CONTEXT": 1}})
        known.change(encryption_slots={"amd_sev": 4, "amd_sev_snp": 8})
        start()
        assert host.moves() == 1
        tree = tree_of(outsider, host)
        assert "amd_sev_es" not in tree
        assert places_of(outsider, query) == [{tree["amd_sev_snp"]}]
        moved = {host.uuid: SERVER, tree["amd_sev_snp"]: {"MEM_ENCRYPTION_CONTEXT": 1}}
        assert outsider.allocations(guest) == moved
        known.change(encryption_slots={"amd_sev": 4, "amd_sev_es": 8})
        start()
        assert tree_of(outsider, host)["amd_sev_es"] in outsider.allocations(guest)

    def test_without_amd_sev_a_context_in_use_ends_the_service(self, older, start, outsider):
        consumer = outsider.allocate({older.uuid: {"MEM_ENCRYPTION_CONTEXT": 1}})
        with pytest.raises(exceptions.ReshapeFailed, match="amd_sev"):
            start()
        assert outsider.allocations(consumer) == {older.uuid: {"MEM_ENCRYPTION_CONTEXT": 1}}


class TestCells:
    """R25, with cards; several reshapes in one."""

    CARDS = network_card("ens1", 1, 4, 1)

    def test_r25_all_consumers_move_to_cells_and_cards(
        self, host, start, known, outsider, elsewhere
    ):
        known.change(pci_devices=self.CARDS)
        start(pci__device_spec=[NETWORK])
        card = tree_of(outsider, host)["ens1"]
        on_second = outsider.allocate({host.uuid: SERVER, card: {"SRIOV_NET_VF": 2}})
        migration = migrating(
            host, outsider, on_second, {host.uuid: SERVER, elsewhere: DISK_AND_CPU}
        )
        unknown = outsider.allocate({host.uuid: SERVER})
        stranger = outsider.allocate({elsewhere: {"VCPU": 4}})
        known.there = [
            pinned(on_second, [6, 7], 2048, cell=1, pci_addresses=["0000:01:10.0", "0000:01:10.1"])
        ]
        start(berth__numa_in_placement=True)
        tree = tree_of(outsider, host)
        moved = {"VCPU": 2, "MEMORY_MB": 2048}
        assert outsider.allocations(on_second) == {
            host.uuid: {"DISK_GB": 20},
            tree["numa1"]: moved,
            tree["ens1_numa1"]: {"SRIOV_NET_VF": 2},
        }
        assert outsider.allocations(migration) == {
            host.uuid: {"DISK_GB": 20},
            tree["numa1"]: moved,
            elsewhere: DISK_AND_CPU,
        }
        assert outsider.allocations(unknown) == {host.uuid: {"DISK_GB": 20}, tree["numa0"]: moved}
        assert outsider.allocations(stranger) == {elsewhere: {"VCPU": 4}}
        assert outsider.shown(tree["ens1_numa1"])["parent_provider_uuid"] == tree["numa1"]
        assert outsider.traits(tree["ens1_numa1"]) == {"CUSTOM_PHYSNET_PHYSNET1", "OWNER_NOVA"}
        assert not outsider.exists(card)
        start()
        assert (host.adapter.writes, host.update().failures) == ([], {})

    def test_undone_all_is_on_the_root_as_before(self, host, start, known, outsider):
        known.change(pci_devices=self.CARDS)
        start(pci__device_spec=[NETWORK])
        consumers = [outsider.allocate({host.uuid: SERVER}) for _ in range(3)]
        before = outsider.inventory(host.uuid)
        start(berth__numa_in_placement=True)
        start(berth__numa_in_placement=False)
        assert host.moves() == 1
        assert set(tree_of(outsider, host)) == {host.name, "ens1"}
        assert outsider.inventory(host.uuid) == before
        assert [outsider.allocations(one) for one in consumers] == [{host.uuid: SERVER}] * 3

    def test_who_fits_nowhere_ends_the_service_and_nothing_moves(
        self, flat, start, known, outsider
    ):
        consumer = outsider.allocate({flat.uuid: {"MEMORY_MB": 12000}})
        known.there = [pinned(consumer, [0], 12000, cell=0)]
        with pytest.raises(exceptions.ReshapeFailed, match=consumer):
            start(berth__numa_in_placement=True)
        assert outsider.allocations(consumer) == {flat.uuid: {"MEMORY_MB": 12000}}
        assert set(tree_of(outsider, flat)) == {flat.name}

    def test_cells_pcpu_and_vgpu_come_in_one_reshape(self, host, start, known, outsider):
        start(partial(OlderDriver, former={"VGPU": 2}))
        guest = outsider.allocate({host.uuid: {**SERVER, "VGPU": 1}})
        known.change(
            creatable={GPUS[0]: {TYPE: 1}, GPUS[1]: {TYPE: 0}},
            mediated_devices=mediated({1: GPUS[1]}),
        )
        known.there = [pinned(guest, [6, 7], 2048, cell=1, mediated_devices=[mdev_uuid(1)])]
        start(
            berth__numa_in_placement=True,
            compute__cpu_shared_set="0-3",
            compute__cpu_dedicated_set="4-7",
            devices__enabled_mdev_types=[TYPE],
        )
        tree = tree_of(outsider, host)
        assert outsider.allocations(guest) == {
            host.uuid: {"DISK_GB": 20},
            tree["numa1"]: {"PCPU": 2, "MEMORY_MB": 2048},
            tree[GPUS[1]]: {"VGPU": 1},
        }
        assert host.moves() == 1


class TestSharedDisk:
    OPTIONS = {"berth__report_disk_on_root_when_shared": False}

    def test_disk_moves_to_the_pool_and_stays_there(self, flat, start, outsider, elsewhere, pool):
        consumers = [
            outsider.allocate({flat.uuid: SERVER}),
            outsider.allocate({flat.uuid: {"VCPU": 1, "DISK_GB": 1}, elsewhere: DISK_AND_CPU}),
        ]
        start(**self.OPTIONS)
        assert [outsider.allocations(one) for one in consumers] == [
            {flat.uuid: {"VCPU": 2, "MEMORY_MB": 2048}, pool: {"DISK_GB": 20}},
            {flat.uuid: {"VCPU": 1}, pool: {"DISK_GB": 1}, elsewhere: DISK_AND_CPU},
        ]
        assert "DISK_GB" not in outsider.totals(flat.uuid)
        assert outsider.totals(pool) == {"DISK_GB": 500}
        start()
        assert flat.adapter.writes == []

    def test_what_others_hold_of_the_pool_counts(self, flat, start, outsider, pool):
        consumer = outsider.allocate({flat.uuid: {"DISK_GB": 450}})
        with pytest.raises(exceptions.ReshapeFailed):
            start(**self.OPTIONS)
        assert outsider.allocations(consumer) == {flat.uuid: {"DISK_GB": 450}}
        assert "DISK_GB" in outsider.totals(flat.uuid)


class TestTrouble:
    def test_nothing_is_created_before_the_hypervisor_is_there(self, host, start, known, outsider):
        def not_yet():
            raise exceptions.VirtDriverNotReady("qemu:///system is not there")

        known.facts = not_yet
        start()
        assert (host.outcome.driver_ready, host.adapter.writes) == (False, [])
        del known.facts
        assert host.update().failures == {}
        assert set(outsider.totals(host.uuid)) == {"VCPU", "MEMORY_MB", "DISK_GB"}

    def test_a_new_host_with_guests_is_refused_once_the_hypervisor_is_there(
        self, host, start, known
    ):
        def not_yet():
            raise exceptions.VirtDriverNotReady("qemu:///system is not there")

        known.facts, known.failure = not_yet, exceptions.VirtDriverNotReady()
        known.there = [floating(str(uuid4()))]
        start()
        del known.facts
        known.failure = None
        with pytest.raises(exceptions.InvalidConfiguration, match="1 instances"):
            host.update()
        assert host.adapter.writes == []

    def test_a_connection_lost_later_is_reported_and_the_next_update_works(
        self, flat, known, outsider
    ):
        def lost():
            raise exceptions.VirtDriverNotReady("qemu:///system is gone")

        known.facts = lost
        (failure,) = flat.update().failures.values()
        assert "qemu:///system is gone" in str(failure)
        del known.facts
        assert flat.update().failures == {}

    def test_a_connection_lost_amid_a_reshape_ends_the_service(self, flat, start, known, outsider):
        consumer = outsider.allocate({flat.uuid: SERVER})
        start_guests = known.guests
        asked = []

        def lost_for_the_update():
            asked.append(None)
            if len(asked) == 1:  # get_available_resource
                return start_guests()
            raise exceptions.VirtDriverNotReady("qemu:///system is gone")

        known.guests = lost_for_the_update
        with pytest.raises(exceptions.ReshapeFailed, match="qemu:///system is gone"):
            start(berth__numa_in_placement=True)
        assert outsider.allocations(consumer) == {flat.uuid: SERVER}

    def test_contradictory_options_end_the_service(self, start):
        with pytest.raises(exceptions.NovaException, match=r"cpu_shared_set.*both have CPU 3"):
            start(compute__cpu_shared_set="0-3", compute__cpu_dedicated_set="3-7")

    def test_a_processor_that_is_not_online_ends_the_service(self, start, known):
        known.change(cells=FACTS.cells[:1])
        with pytest.raises(exceptions.InvalidConfiguration, match="CPUs 4-7"):
            start(compute__cpu_dedicated_set="4-7")

    def test_a_namespace_of_memory_that_vanished_under_a_guest_ends_the_service(
        self, host, start, known
    ):
        known.change(pmem_namespaces={"ns0": 128, "ns1": 128})
        start(libvirt__pmem_namespaces=["BIG:ns0|ns1"])
        assigned = Resource(host.uuid, "CUSTOM_PMEM_NAMESPACE_BIG", "ns1")
        host.cell.instances.create(Instance(host=host.name, node=host.name, resources=[assigned]))
        start()
        known.change(pmem_namespaces={"ns0": 128})
        with pytest.raises(exceptions.InvalidConfiguration, match=r"pmem_namespaces.*ns1"):
            start()
        start(libvirt__pmem_namespaces=["BIG:ns0"])
        (failure,) = host.outcome.failures.values()
        assert isinstance(failure, exceptions.AssignedResourceNotFound)
        assert "ns1" in str(failure)

    def test_r35_an_operators_own_child_is_untouched(self, flat, start, outsider):
        child = outsider.provider(
            parent=flat.uuid, inventory={"CUSTOM_THING": {"total": 3}}, traits=["CUSTOM_MINE"]
        )
        consumer = outsider.allocate({child: {"CUSTOM_THING": 1}, flat.uuid: SERVER})
        start(berth__numa_in_placement=True)
        assert (outsider.totals(child), outsider.traits(child)) == (
            {"CUSTOM_THING": 3},
            {"CUSTOM_MINE"},
        )
        assert outsider.allocations(consumer)[child] == {"CUSTOM_THING": 1}
