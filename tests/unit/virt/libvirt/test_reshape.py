"""Reshapes of the libvirt driver (compute.md §6.5.1–§6.9), with several consumers at once."""

import copy
import json
from dataclasses import replace

import pytest

from compute import exceptions
from compute.provider_tree import ProviderTree
from tests.unit.virt.conftest import ROOT_UUID as ROOT
from tests.unit.virt.consumers import body, resources, totals, uuid
from tests.unit.virt.node.hosts import (
    GPUS,
    TYPE,
    floating,
    mdev_uuid,
    mediated,
    network_card,
    pinned,
)
from virt.inventory import record
from virt.libvirt.xml_reading import MalformedXML

SERVER = {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20}
FLAT = {"MEMORY_MB": record(16384), "VCPU": record(8, 0, 4.0), "DISK_GB": record(1000)}
ELSEWHERE, POOL, AGGREGATE = uuid(900), uuid(901), uuid(902)
NETWORK = json.dumps({"devname": "ens1", "physical_network": "physnet1"})
CELLS = {"berth__numa_in_placement": True}


@pytest.fixture
def tree():
    """Return what a service before this one reported: a flat host, and somebody's own child."""
    tree = ProviderTree()
    tree.new_root("host1", ROOT, generation=1)
    tree.update_inventory("host1", FLAT)
    tree.new_child("operators", "host1", uuid(903))
    tree.update_inventory("operators", {"CUSTOM_THING": record(3)})
    return tree


def add(tree, provider, **classes):
    inventory = tree.data(provider).inventory
    tree.update_inventory(
        provider, inventory | {name: record(total) for name, total in classes.items()}
    )


def reshape(driver, tree, allocations):
    """Both passes over one tree, as the tracker does them."""
    with pytest.raises(exceptions.ReshapeNeeded):
        driver.update_provider_tree(tree, "host1")
    driver.update_provider_tree(tree, "host1", allocations=allocations)
    driver.update_provider_tree(tree, "host1")  # nothing is left to do


def by_name(tree, allocations):
    """consumer → name of provider without the node's → resources"""
    names = {one: tree.data(one).name.removeprefix("host1_") for one in tree.get_provider_uuids()}
    return {
        consumer: {names.get(provider, provider): amounts for provider, amounts in places.items()}
        for consumer, places in resources(allocations).items()
    }


class TestVGPU:
    @pytest.fixture
    def driver(self, make_driver, host):
        host.change(
            creatable={device: {TYPE: 0} for device in GPUS},
            mediated_devices=mediated(dict(enumerate(GPUS, start=1))),
        )
        return make_driver(devices__enabled_mdev_types=[TYPE])

    def test_each_guests_vgpu_moves_to_the_gpu_its_device_is_part_of(self, driver, tree, host):
        host.there = [
            floating(uuid(1), mediated_devices=[mdev_uuid(1)]),
            floating(uuid(2), mediated_devices=[mdev_uuid(3)]),
        ]
        add(tree, ROOT, VGPU=3)
        allocations = {
            uuid(1): body({ROOT: SERVER | {"VGPU": 1}, ELSEWHERE: {"VGPU": 1}}),
            uuid(2): body({ROOT: {"VGPU": 1}}),
            uuid(3): body({ROOT: SERVER}),
        }
        reshape(driver, tree, allocations)
        assert by_name(tree, allocations) == {
            uuid(1): {"host1": SERVER, GPUS[0]: {"VGPU": 1}, ELSEWHERE: {"VGPU": 1}},
            uuid(2): {GPUS[2]: {"VGPU": 1}},
            uuid(3): {"host1": SERVER},
        }
        assert "VGPU" not in tree.data(ROOT).inventory

    def test_a_migration_has_no_devices_and_fails_it(self, driver, tree, host):
        add(tree, ROOT, VGPU=3)
        host.there = [floating(uuid(1), mediated_devices=[mdev_uuid(1)])]
        allocations = {uuid(1): body({ROOT: {"VGPU": 1}}), uuid(7): body({ROOT: {"VGPU": 1}})}
        before = copy.deepcopy(allocations)
        with pytest.raises(exceptions.ReshapeFailed, match=uuid(7)):
            driver.update_provider_tree(tree, "host1", allocations=allocations)
        assert allocations == before

    def test_a_guest_on_a_gpu_that_vanished_fails_it_naming_the_gpu(self, driver, tree, host):
        add(tree, ROOT, VGPU=3)
        host.there = [floating(uuid(1), mediated_devices=[mdev_uuid(1)])]
        host.change(creatable={GPUS[1]: {TYPE: 1}}, mediated_devices=mediated({1: GPUS[0]}, "off"))
        with pytest.raises(exceptions.ReshapeFailed, match=GPUS[0]):
            driver.update_provider_tree(
                tree, "host1", allocations={uuid(1): body({ROOT: {"VGPU": 1}})}
            )

    def test_a_gpu_that_vanished_stays_through_a_reshape_while_it_is_held(
        self, driver, tree, host, make_driver
    ):
        driver.update_provider_tree(tree, "host1")
        gone = tree.data(f"host1_{GPUS[0]}").uuid
        host.change(creatable={GPUS[1]: {TYPE: 1}}, mediated_devices=())
        nesting = make_driver(devices__enabled_mdev_types=[TYPE], **CELLS)
        with pytest.raises(exceptions.ReshapeNeeded):
            nesting.update_provider_tree(tree, "host1")
        allocations = {uuid(1): body({gone: {"VGPU": 1}, ROOT: SERVER})}
        nesting.update_provider_tree(tree, "host1", allocations=allocations)
        assert tree.exists(gone)
        assert not tree.exists(f"host1_{GPUS[2]}")
        nesting.update_provider_tree(tree, "host1")
        assert not tree.exists(gone)


class TestPCPU:
    OPTIONS = {"compute__cpu_shared_set": "0-3", "compute__cpu_dedicated_set": "4-7"}

    def test_r26_pinned_guests_get_pcpu_and_the_others_keep_vcpu(self, make_driver, tree, host):
        host.there = [pinned(uuid(1), [4, 5]), floating(uuid(2))]
        allocations = {
            uuid(1): body({ROOT: SERVER, ELSEWHERE: {"VCPU": 2}}),
            uuid(2): body({ROOT: {"VCPU": 1}}),
        }
        reshape(make_driver(**self.OPTIONS), tree, allocations)
        assert resources(allocations) == {
            uuid(1): {
                ROOT: {"PCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20},
                ELSEWHERE: {"VCPU": 2},
            },
            uuid(2): {ROOT: {"VCPU": 1}},
        }

    def test_migrations_of_pinned_guests_are_pinned(self, make_driver, tree, host, virtapi):
        host.there = [pinned(uuid(1), [4, 5]), floating(uuid(2))]
        virtapi.migrating_instance = {uuid(8): uuid(1), uuid(9): uuid(2)}.get
        allocations = {uuid(n): body({ROOT: {"VCPU": 2}}) for n in (1, 8, 9)}
        reshape(make_driver(**self.OPTIONS), tree, allocations)
        assert [resources(allocations)[uuid(n)][ROOT] for n in (1, 8, 9)] == [
            {"PCPU": 2},
            {"PCPU": 2},
            {"VCPU": 2},
        ]

    def test_without_pinned_guests_nothing_has_to_move(self, make_driver, tree, host):
        host.there = [floating(uuid(2))]
        make_driver(**self.OPTIONS).update_provider_tree(tree, "host1")
        assert tree.data(ROOT).inventory["PCPU"] == record(4)

    def test_guests_that_float_on_one_processor_of_the_shared_ones_keep_vcpu(
        self, make_driver, tree, host
    ):
        on_one = replace(floating(uuid(2), 2), vcpu_cpus=[frozenset({1})] * 2)
        host.there = [pinned(uuid(1), [4, 5]), on_one, pinned(uuid(3), [2, 3])]
        allocations = {uuid(n): body({ROOT: {"VCPU": 2}}) for n in (1, 2, 3)}
        reshape(make_driver(**self.OPTIONS), tree, allocations)
        assert [resources(allocations)[uuid(n)][ROOT] for n in (1, 2, 3)] == [
            {"PCPU": 2},
            {"VCPU": 2},
            {"VCPU": 2},
        ]
        host.there = [on_one]
        make_driver(**self.OPTIONS).update_provider_tree(tree, "host1")

    def test_of_a_guest_that_holds_both_kinds_the_dedicated_ones_are_pcpu(
        self, make_driver, tree, host
    ):
        mixed = [frozenset({0}), frozenset({1}), frozenset({6}), frozenset({7})]
        host.there = [replace(floating(uuid(1), 4), vcpu_cpus=mixed)]
        add(tree, ROOT, PCPU=4)
        allocations = {uuid(1): body({ROOT: {"VCPU": 2, "PCPU": 2}})}
        reshape(make_driver(**self.OPTIONS, **CELLS), tree, allocations)
        assert by_name(tree, allocations) == {uuid(1): {"numa0": {"VCPU": 2}, "numa1": {"PCPU": 2}}}

    def test_more_pinned_than_there_are_fails_it_naming_the_consumers(
        self, make_driver, tree, host
    ):
        host.there = [pinned(uuid(1), [4, 5, 6]), pinned(uuid(2), [4, 7])]
        allocations = {uuid(1): body({ROOT: {"VCPU": 3}}), uuid(2): body({ROOT: {"VCPU": 2}})}
        with pytest.raises(exceptions.ReshapeFailed, match=rf"5 PCPU.*there are 4.*{uuid(2)}"):
            make_driver(**self.OPTIONS).update_provider_tree(tree, "host1", allocations=allocations)

    def test_cells_and_dedicated_processors_come_in_one_reshape(self, make_driver, tree, host):
        host.there = [pinned(uuid(1), [6, 7], 2048, cell=1), floating(uuid(2))]
        allocations = {uuid(1): body({ROOT: SERVER}), uuid(2): body({ROOT: SERVER})}
        options = {"compute__cpu_shared_set": "0-1,4", "compute__cpu_dedicated_set": "6-7"}
        reshape(make_driver(**options, **CELLS), tree, allocations)
        assert by_name(tree, allocations) == {
            uuid(1): {"host1": {"DISK_GB": 20}, "numa1": {"PCPU": 2, "MEMORY_MB": 2048}},
            uuid(2): {"host1": {"DISK_GB": 20}, "numa0": {"VCPU": 2, "MEMORY_MB": 2048}},
        }


class TestMemoryEncryption:
    @pytest.fixture
    def driver(self, make_driver, host, tree):
        add(tree, ROOT, MEM_ENCRYPTION_CONTEXT=2)
        tree.add_traits(ROOT, "HW_CPU_X86_AMD_SEV")
        host.change(encryption_slots={"amd_sev": 2, "amd_sev_es": 9})
        return make_driver()

    def test_contexts_move_to_the_child_of_amd_sev(self, driver, tree):
        allocations = {
            uuid(1): body({ROOT: SERVER | {"MEM_ENCRYPTION_CONTEXT": 1}}),
            uuid(2): body({ROOT: {"MEM_ENCRYPTION_CONTEXT": 1}}),
            uuid(3): body({ROOT: SERVER, ELSEWHERE: {"MEM_ENCRYPTION_CONTEXT": 1}}),
        }
        reshape(driver, tree, allocations)
        assert by_name(tree, allocations) == {
            uuid(1): {"host1": SERVER, "amd_sev": {"MEM_ENCRYPTION_CONTEXT": 1}},
            uuid(2): {"amd_sev": {"MEM_ENCRYPTION_CONTEXT": 1}},
            uuid(3): {"host1": SERVER, ELSEWHERE: {"MEM_ENCRYPTION_CONTEXT": 1}},
        }
        assert "HW_CPU_X86_AMD_SEV" not in tree.data(ROOT).traits
        assert "MEM_ENCRYPTION_CONTEXT" not in tree.data(ROOT).inventory

    @pytest.mark.parametrize("slots", [{}, {"amd_sev": 0}, {"amd_sev": 1}])
    def test_where_there_is_no_room_it_fails_naming_the_provider(self, driver, tree, host, slots):
        host.change(encryption_slots=slots)
        held = {uuid(n): body({ROOT: {"MEM_ENCRYPTION_CONTEXT": 1}}) for n in (1, 2)}
        before = copy.deepcopy(held)
        with pytest.raises(exceptions.ReshapeFailed, match="host1_amd_sev"):
            driver.update_provider_tree(tree, "host1", allocations=held)
        assert held == before

    def test_a_context_on_the_child_already_fails_it(self, driver, tree):
        child = tree.new_child("host1_amd_sev", "host1")
        with pytest.raises(exceptions.ReshapeFailed, match=child):
            driver.update_provider_tree(
                tree,
                "host1",
                allocations={uuid(1): body({child: {"MEM_ENCRYPTION_CONTEXT": 1}})},
            )

    def test_a_context_of_another_service_below_the_node_is_left_alone(self, driver, tree):
        held = {ROOT: {"MEM_ENCRYPTION_CONTEXT": 1}, uuid(903): {"MEM_ENCRYPTION_CONTEXT": 1}}
        allocations = {uuid(1): body(held)}
        reshape(driver, tree, allocations)
        assert resources(allocations)[uuid(1)] == {
            tree.data("host1_amd_sev").uuid: {"MEM_ENCRYPTION_CONTEXT": 1},
            uuid(903): {"MEM_ENCRYPTION_CONTEXT": 1},
        }

    @pytest.mark.parametrize("was", ["amd_sev_es", "amd_sev_snp"])
    def test_sev_es_and_snp_replace_each_other(self, make_driver, tree, host, was):
        then, now = {was: 3}, {"amd_sev_es": {"amd_sev_snp": 2}, "amd_sev_snp": {"amd_sev_es": 2}}
        host.change(encryption_slots={"amd_sev": 2, **then})
        make_driver().update_provider_tree(tree, "host1")
        former = tree.data(f"host1_{was}").uuid
        (technology,) = now[was]
        host.change(encryption_slots={"amd_sev": 2, **now[was]})
        held = {uuid(n): body({former: {"MEM_ENCRYPTION_CONTEXT": 1}}) for n in (1, 2)}
        too_many = copy.deepcopy(held) | {
            uuid(3): body({former: {"MEM_ENCRYPTION_CONTEXT": 1}}),
        }
        with pytest.raises(exceptions.ReshapeFailed, match=f"host1_{technology}"):
            make_driver().update_provider_tree(copy.deepcopy(tree), "host1", allocations=too_many)
        reshape(make_driver(), tree, held)
        context = {technology: {"MEM_ENCRYPTION_CONTEXT": 1}}
        assert by_name(tree, held) == {uuid(1): context, uuid(2): context}
        assert not tree.exists(former)

    def test_contexts_nobody_holds_are_just_dropped(self, driver, tree, host):
        host.change(encryption_slots={})
        reshape(driver, tree, {uuid(1): body({ROOT: SERVER})})
        assert set(tree.data(ROOT).inventory) == set(FLAT)


class TestCells:
    def test_guests_go_where_they_are_and_others_where_there_is_room(
        self, make_driver, tree, host, virtapi
    ):
        host.there = [pinned(uuid(1), [4, 5], 2048, cell=1), floating(uuid(2), 2, 2048)]
        virtapi.migrating_instance = {uuid(8): uuid(1)}.get
        allocations = {uuid(n): body({ROOT: SERVER}) for n in (1, 2, 7, 8)}
        reshape(make_driver(**CELLS), tree, allocations)
        found = by_name(tree, allocations)
        moved = {"VCPU": 2, "MEMORY_MB": 2048}
        assert {n: found[uuid(n)] for n in (1, 2, 7, 8)} == {
            1: {"host1": {"DISK_GB": 20}, "numa1": moved},
            2: {"host1": {"DISK_GB": 20}, "numa0": moved},
            7: {"host1": {"DISK_GB": 20}, "numa0": moved},
            8: {"host1": {"DISK_GB": 20}, "numa1": moved},
        }

    def test_a_guest_across_cells_is_split_as_it_is(self, make_driver, tree, host):
        host.there = [
            pinned(uuid(1), [2, 3, 4], 3072, memory_cells={0: 2048, 1: 1024}),
        ]
        allocations = {uuid(1): body({ROOT: {"VCPU": 3, "MEMORY_MB": 3072}})}
        reshape(make_driver(**CELLS), tree, allocations)
        assert by_name(tree, allocations)[uuid(1)] == {
            "numa0": {"VCPU": 2, "MEMORY_MB": 2048},
            "numa1": {"VCPU": 1, "MEMORY_MB": 1024},
        }

    def test_processors_of_which_only_some_are_somewhere_for_certain_go_where_there_is_room(
        self, make_driver, tree, host
    ):
        partly = replace(floating(uuid(1)), vcpu_cpus=[frozenset({4}), frozenset()])
        host.there = [partly]
        allocations = {uuid(1): body({ROOT: {"VCPU": 2}})}
        reshape(make_driver(**CELLS), tree, allocations)
        assert by_name(tree, allocations)[uuid(1)] == {"numa0": {"VCPU": 2}}

    def test_dedicated_processors_and_memory_of_one_guest_stay_together(self, make_driver, tree):
        add(tree, ROOT, PCPU=4)
        allocations = {uuid(1): body({ROOT: {"PCPU": 2, "MEMORY_MB": 1024}})}
        sets = {"compute__cpu_shared_set": "0-3", "compute__cpu_dedicated_set": "4-7"}
        reshape(make_driver(**sets, **CELLS), tree, allocations)
        assert by_name(tree, allocations)[uuid(1)] == {"numa1": {"PCPU": 2, "MEMORY_MB": 1024}}

    def test_a_migration_from_before_a_resize_goes_where_there_is_room(
        self, make_driver, tree, host, virtapi
    ):
        host.there = [pinned(uuid(1), [4, 5, 6, 7], 4096, cell=1)]
        virtapi.migrating_instance = {uuid(8): uuid(1)}.get
        allocations = {uuid(8): body({ROOT: {"VCPU": 2, "MEMORY_MB": 1024}})}
        reshape(make_driver(**CELLS), tree, allocations)
        assert by_name(tree, allocations)[uuid(8)] == {"numa0": {"VCPU": 2, "MEMORY_MB": 1024}}

    def test_a_guest_that_is_not_what_was_allocated_fails_it(self, make_driver, tree, host):
        host.there = [pinned(uuid(1), [4, 5], 2048, cell=1)]
        allocations = {uuid(1): body({ROOT: {"VCPU": 3, "MEMORY_MB": 2048}})}
        with pytest.raises(exceptions.ReshapeFailed, match=uuid(1)):
            make_driver(**CELLS).update_provider_tree(tree, "host1", allocations=allocations)

    def test_and_back_again(self, make_driver, tree, host):
        host.there = [pinned(uuid(1), [4, 5], 2048, cell=1)]
        allocations = {uuid(n): body({ROOT: SERVER}) for n in (1, 2)}
        before = resources(allocations)
        reshape(make_driver(**CELLS), tree, allocations)
        reshape(make_driver(), tree, allocations)
        assert resources(allocations) == before
        assert [tree.data(one).name for one in tree.get_provider_uuids()] == ["host1", "operators"]


class TestCards:
    @pytest.fixture
    def options(self):
        return {"pci__device_spec": [NETWORK, NETWORK.replace("ens1", "ens2")]}

    @pytest.fixture
    def cards(self, host):
        host.change(pci_devices=[*network_card("ens1", 1, 4, 0), *network_card("ens2", 2, 4, 1)])

    def test_functions_on_the_root_move_to_the_cards_they_are_of(
        self, make_driver, tree, host, cards, options
    ):
        add(tree, ROOT, SRIOV_NET_VF=8)
        host.there = [
            floating(uuid(1), pci_addresses=["0000:02:10.1", "0000:01:10.0", "0000:02:10.3"])
        ]
        allocations = {
            uuid(1): body({ROOT: {"SRIOV_NET_VF": 3}}),
            uuid(2): body({ROOT: {"SRIOV_NET_VF": 1}}),
        }
        reshape(make_driver(**options, **CELLS), tree, allocations)
        assert by_name(tree, allocations) == {
            uuid(1): {"ens1": {"SRIOV_NET_VF": 1}, "ens2": {"SRIOV_NET_VF": 2}},
            uuid(2): {"ens1": {"SRIOV_NET_VF": 1}},
        }

    @pytest.mark.parametrize("there_and_back", [False, True])
    def test_a_card_follows_its_cell_with_all_that_is_held_of_it(
        self, make_driver, tree, host, cards, options, there_and_back
    ):
        flat, nested = make_driver(**options), make_driver(**options, **CELLS)
        flat.update_provider_tree(tree, "host1")
        second = tree.data("host1_ens2").uuid
        allocations = {uuid(7): body({second: {"SRIOV_NET_VF": 2}, ROOT: SERVER})}
        reshape(nested, tree, allocations)
        assert by_name(tree, allocations)[uuid(7)]["ens2_numa1"] == {"SRIOV_NET_VF": 2}
        assert tree.data(tree.data("host1_ens2_numa1").parent_uuid).name == "host1_numa1"
        if there_and_back:
            reshape(flat, tree, allocations)
            assert by_name(tree, allocations)[uuid(7)]["ens2"] == {"SRIOV_NET_VF": 2}
            assert not tree.exists("host1_numa1")

    def test_a_card_that_vanished_needs_no_reshape(self, make_driver, tree, host, cards, options):
        driver = make_driver(**options, **CELLS)
        reshape(driver, tree, {})
        host.change(pci_devices=network_card("ens1", 1, 4, 0))
        driver.update_provider_tree(tree, "host1")
        assert not tree.exists("host1_ens2")

    def test_a_card_that_vanished_stays_through_a_reshape_while_it_is_held(
        self, make_driver, tree, host, cards, options
    ):
        make_driver(**options).update_provider_tree(tree, "host1")
        gone = tree.data("host1_ens2").uuid
        host.change(pci_devices=network_card("ens1", 1, 4, 0))
        nested = make_driver(**options, **CELLS)
        with pytest.raises(exceptions.ReshapeNeeded):
            nested.update_provider_tree(tree, "host1")
        allocations = {uuid(1): body({gone: {"SRIOV_NET_VF": 1}})}
        nested.update_provider_tree(tree, "host1", allocations=allocations)
        assert (tree.exists(gone), resources(allocations)[uuid(1)]) == (
            True,
            {gone: {"SRIOV_NET_VF": 1}},
        )


class TestSharedDisk:
    OPTIONS = {"berth__report_disk_on_root_when_shared": False}

    @pytest.fixture
    def pool(self, tree):
        tree.new_root("pool", POOL, generation=3)
        tree.update_inventory("pool", {"DISK_GB": record(5000)})
        tree.add_traits("pool", "MISC_SHARES_VIA_AGGREGATE")
        tree.add_aggregates("pool", AGGREGATE)
        tree.add_aggregates("host1", AGGREGATE)

    def test_disk_on_the_root_moves_to_the_pool(self, make_driver, tree, pool):
        allocations = {
            uuid(1): body({ROOT: SERVER}),
            uuid(2): body({ROOT: {"VCPU": 1}, POOL: {"DISK_GB": 5}}),
            uuid(3): body({ELSEWHERE: {"DISK_GB": 7}, ROOT: {"DISK_GB": 1}, POOL: {"DISK_GB": 2}}),
        }
        reshape(make_driver(**self.OPTIONS), tree, allocations)
        assert resources(allocations) == {
            uuid(1): {ROOT: {"VCPU": 2, "MEMORY_MB": 2048}, POOL: {"DISK_GB": 20}},
            uuid(2): {ROOT: {"VCPU": 1}, POOL: {"DISK_GB": 5}},
            uuid(3): {ELSEWHERE: {"DISK_GB": 7}, POOL: {"DISK_GB": 3}},
        }
        assert "DISK_GB" not in tree.data(ROOT).inventory
        assert tree.data(POOL).inventory == {"DISK_GB": record(5000)}

    def test_by_default_the_disk_is_on_the_root_all_the_same(self, make_driver, tree, pool):
        make_driver().update_provider_tree(tree, "host1")
        assert tree.data(ROOT).inventory["DISK_GB"] == record(1000)

    def test_a_pool_that_is_not_shared_with_this_host_is_none(self, make_driver, tree, pool):
        tree.remove_aggregates("host1", AGGREGATE)
        make_driver(**self.OPTIONS).update_provider_tree(tree, "host1")
        assert "DISK_GB" in tree.data(ROOT).inventory

    def test_more_than_the_pool_has_fails_it(self, make_driver, tree, pool):
        tree.update_inventory("pool", {"DISK_GB": record(19)})
        with pytest.raises(exceptions.ReshapeFailed, match=rf"20 DISK_GB.*{uuid(1)}.*pool 19"):
            make_driver(**self.OPTIONS).update_provider_tree(
                tree, "host1", allocations={uuid(1): body({ROOT: SERVER})}
            )


class TestRenaming:
    def test_a_class_of_mediated_devices_gets_another_name_with_its_allocations(
        self, make_driver, tree, host
    ):
        host.change(creatable={GPUS[0]: {TYPE: 4}})
        enabled = {"devices__enabled_mdev_types": [TYPE]}
        old = make_driver(**enabled, berth__mdev_classes={TYPE: "CUSTOM_GPU"})
        old.update_provider_tree(tree, "host1")
        gpu = tree.data(f"host1_{GPUS[0]}").uuid
        allocations = {uuid(1): body({gpu: {"CUSTOM_GPU": 2}, ELSEWHERE: {"CUSTOM_GPU": 1}})}
        new = make_driver(**enabled, berth__renamed_resource_classes={"CUSTOM_GPU": "VGPU"})
        reshape(new, tree, allocations)
        assert resources(allocations)[uuid(1)] == {gpu: {"VGPU": 2}, ELSEWHERE: {"CUSTOM_GPU": 1}}
        assert tree.data(gpu).inventory == {"VGPU": record(4)}


class TestFailures:
    @pytest.mark.parametrize(
        "failure",
        [
            exceptions.VirtDriverNotReady("qemu:///system is gone"),
            MalformedXML("guest one", "qemu:///system is gone"),
        ],
    )
    def test_a_hypervisor_lost_amid_a_reshape_fails_it(self, make_driver, tree, host, failure):
        driver = make_driver(**CELLS)
        with pytest.raises(exceptions.ReshapeNeeded):
            driver.update_provider_tree(tree, "host1")
        host.failure = failure
        allocations = {uuid(1): body({ROOT: SERVER})}
        with pytest.raises(exceptions.ReshapeFailed, match="qemu:///system is gone"):
            driver.update_provider_tree(tree, "host1", allocations=allocations)
        assert totals(allocations) == {uuid(1): SERVER}

    def test_others_providers_are_as_they_were(self, make_driver, tree, host):
        allocations = {uuid(1): body({ROOT: SERVER, uuid(903): {"CUSTOM_THING": 1}})}
        before = tree.data("operators")
        reshape(make_driver(**CELLS), tree, allocations)
        assert tree.data("operators") == before
        assert resources(allocations)[uuid(1)][uuid(903)] == {"CUSTOM_THING": 1}
