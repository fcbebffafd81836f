"""What the driver reports of a host where nothing has to move (compute.md §6.5)."""

import json
from dataclasses import replace

import pytest

from compute.exceptions import ComputeHostNotFound, InvalidConfiguration, VirtDriverNotReady
from tests.unit.virt.consumers import uuid
from tests.unit.virt.libvirt.hosts import children
from tests.unit.virt.node.hosts import (
    FACTS,
    GPUS,
    TYPE,
    KnownHost,
    floating,
    network_card,
    pinned,
)
from virt.inventory import record
from virt.libvirt.xml_reading import MalformedXML
from virt.node.facts import DiskSpace, HostFactsError, Processor

NETWORK = json.dumps({"devname": "ens1", "physical_network": "physnet-1"})


def parent_of(tree, name):
    return tree.data(tree.data(name).parent_uuid).name


class TestRoot:
    def test_has_memory_processors_and_disk_in_this_order(self, make_driver, tree):
        make_driver().update_provider_tree(tree, "host1")
        inventory = tree.data("host1").inventory
        assert list(inventory) == ["MEMORY_MB", "VCPU", "DISK_GB"]
        assert inventory == {
            "MEMORY_MB": record(16384, 512, 1.0),
            "VCPU": record(8, 0, 4.0),
            "DISK_GB": record(1000, 0, 1.0),
        }

    def test_dedicated_processors_are_pcpu_never_overcommitted(self, make_driver, tree):
        make_driver(
            compute__cpu_shared_set="0-1",
            compute__cpu_dedicated_set="4-7",
            cpu_allocation_ratio=8.0,
        ).update_provider_tree(tree, "host1")
        inventory = tree.data("host1").inventory
        assert (inventory["VCPU"], inventory["PCPU"]) == (record(2, 0, 8.0), record(4, 0, 1.0))

    def test_with_only_dedicated_processors_there_is_no_vcpu(self, make_driver, tree):
        make_driver(compute__cpu_dedicated_set="0-7").update_provider_tree(tree, "host1")
        assert set(tree.data("host1").inventory) == {"MEMORY_MB", "PCPU", "DISK_GB"}

    def test_what_is_reserved_and_ratios_come_from_the_configuration(self, make_driver, tree):
        make_driver(
            reserved_host_cpus=1,
            reserved_host_memory_mb=1024,
            reserved_host_disk_mb=1025,
            ram_allocation_ratio=1.5,
            disk_allocation_ratio=2.0,
        ).update_provider_tree(tree, "host1")
        assert tree.data("host1").inventory == {
            "MEMORY_MB": record(16384, 1024, 1.5),
            "VCPU": record(8, 1, 4.0),
            "DISK_GB": record(1000, 2, 2.0),
        }

    def test_a_ratio_changed_in_placement_stays(self, make_driver, tree):
        tree.update_inventory("host1", {"VCPU": record(8, 0, 7.0)})
        make_driver().update_provider_tree(tree, "host1")
        assert tree.data("host1").inventory["VCPU"]["allocation_ratio"] == 7.0

    @pytest.mark.parametrize(("counted", "reserved"), [(False, 1), (True, 8)])
    def test_the_image_cache_is_reserved_if_asked_for(
        self, make_driver, tree, host, counted, reserved
    ):
        host.change(image_cache_gb=7)
        make_driver(
            reserved_host_disk_mb=1,
            workarounds__reserve_disk_resource_for_image_cache=counted,
        ).update_provider_tree(tree, "host1")
        assert tree.data("host1").inventory["DISK_GB"]["reserved"] == reserved

    def test_disk_is_reported_even_if_somebody_shares_some_with_the_node(
        self, make_driver, tree, caplog
    ):
        tree.new_root("pool", uuid(1))
        tree.update_inventory("pool", {"DISK_GB": record(5000)})
        tree.add_traits("pool", "MISC_SHARES_VIA_AGGREGATE")
        for name in ("pool", "host1"):
            tree.add_aggregates(name, uuid(2))
        with caplog.at_level("DEBUG"):
            make_driver().update_provider_tree(tree, "host1")
        assert tree.data("host1").inventory["DISK_GB"] == record(1000)
        assert "pool shares DISK_GB with host1" in caplog.text

    def test_what_the_host_has_nothing_of_is_left_out(self, make_driver, tree, host):
        host.change(disk=DiskSpace(0, 0))
        make_driver().update_provider_tree(tree, "host1")
        assert "DISK_GB" not in tree.data("host1").inventory

    def test_reserving_more_than_there_is_is_refused(self, make_driver, tree):
        driver = make_driver(reserved_host_memory_mb=99999)
        with pytest.raises(InvalidConfiguration, match=r"reserved_host_memory_mb.*99999.*16384"):
            driver.update_provider_tree(tree, "host1")

    def test_where_the_image_cache_makes_it_too_much_its_option_is_named_as_well(
        self, make_driver, tree, host
    ):
        host.change(image_cache_gb=7)
        driver = make_driver(
            reserved_host_disk_mb=995 * 1024,
            workarounds__reserve_disk_resource_for_image_cache=True,
        )
        with pytest.raises(
            InvalidConfiguration,
            match=r"reserved_host_disk_mb and .*image_cache keep 1002 DISK_GB .* only 1000",
        ):
            driver.update_provider_tree(tree, "host1")

    def test_a_second_update_changes_nothing(self, make_driver, tree, host):
        host.change(
            creatable={GPUS[0]: {TYPE: 2}},
            pci_devices=network_card("ens1", 1, 2, 0),
            encryption_slots={"amd_sev": 15},
        )
        driver = make_driver(
            devices__enabled_mdev_types=[TYPE],
            pci__device_spec=[NETWORK],
            berth__numa_in_placement=True,
        )
        driver.update_provider_tree(tree, "host1")
        before = [tree.data(uuid) for uuid in tree.get_provider_uuids()]
        driver.update_provider_tree(tree, "host1")
        assert [tree.data(uuid) for uuid in tree.get_provider_uuids()] == before


class TestTraits:
    def test_true_features_are_added_and_false_ones_removed_whoever_set_them(
        self, make_driver, tree
    ):
        tree.add_traits("host1", "HW_CPU_X86_AVX2", "CUSTOM_MINE", "HW_NIC_SRIOV")
        make_driver().update_provider_tree(tree, "host1")
        traits = tree.data("host1").traits
        assert {"HW_CPU_X86_AVX", "HW_CPU_HYPERTHREADING", "CUSTOM_MINE", "HW_NIC_SRIOV"} <= traits
        assert "HW_CPU_X86_AVX2" not in traits

    def test_encryption_is_a_trait_of_its_own_providers_only(self, make_driver, tree, host):
        tree.add_traits("host1", "HW_CPU_X86_AMD_SEV")
        features = frozenset({"fpu", "lm", "sev", "sev_es"})
        host.change(
            processor=Processor("AuthenticAMD", "", features, 1),
            encryption_slots={"amd_sev": 15, "amd_sev_es": 84},
        )
        make_driver().update_provider_tree(tree, "host1")
        assert not {one for one in tree.data("host1").traits if "SEV" in one}
        assert tree.data("host1_amd_sev").traits == {"HW_CPU_X86_AMD_SEV"}
        assert tree.data("host1_amd_sev_es").traits == {"HW_CPU_X86_AMD_SEV_ES"}

    def test_that_a_processor_has_sev_snp_is_no_trait_of_the_root(self, make_driver, tree, host):
        """Guests that ask for it got slots of SEV-ES."""
        tree.add_traits("host1", "HW_CPU_X86_AMD_SEV_SNP")
        features = frozenset({"fpu", "lm", "sev", "sev_es", "sev_snp"})
        slots = {"amd_sev": 15, "amd_sev_snp": 84}
        host.change(processor=Processor("AuthenticAMD", "", features, 1), encryption_slots=slots)
        make_driver().update_provider_tree(tree, "host1")
        assert not {one for one in tree.data("host1").traits if "SEV" in one}
        assert set(children(tree)) == set(slots)
        assert tree.data("host1_amd_sev_snp").traits == {"HW_CPU_X86_AMD_SEV_SNP"}


class TestMemoryEncryption:
    def test_each_guest_takes_one_context(self, make_driver, tree, host):
        host.change(encryption_slots={"amd_sev": 15, "amd_sev_es": 0})
        make_driver().update_provider_tree(tree, "host1")
        assert children(tree) == {
            "amd_sev": {"MEM_ENCRYPTION_CONTEXT": {**record(15), "max_unit": 1}}
        }

    def test_a_technology_switched_off_is_removed(self, make_driver, tree, host):
        host.change(encryption_slots={"amd_sev": 15})
        driver = make_driver()
        driver.update_provider_tree(tree, "host1")
        host.change(encryption_slots={})
        driver.update_provider_tree(tree, "host1")
        assert children(tree) == {}


class TestCells:
    @pytest.fixture
    def options(self):
        return {"berth__numa_in_placement": True}

    def test_processors_and_memory_are_on_the_cells(self, make_driver, tree, options):
        make_driver(
            compute__cpu_shared_set="0-2", compute__cpu_dedicated_set="3-7", **options
        ).update_provider_tree(tree, "host1")
        assert set(tree.data("host1").inventory) == {"DISK_GB"}
        assert children(tree) == {
            "numa0": {
                "MEMORY_MB": record(8192, 256),
                "VCPU": record(3, 0, 4.0),
                "PCPU": record(1),
            },
            "numa1": {"MEMORY_MB": record(8192, 256), "PCPU": record(4)},
        }

    def test_processors_that_nova_keeps_offline_stay_on_their_cell(
        self, make_driver, tree, host, options
    ):
        driver = make_driver(
            compute__cpu_shared_set="0-2",
            compute__cpu_dedicated_set="3-7",
            libvirt__cpu_power_management=True,
            **options,
        )
        driver.update_provider_tree(tree, "host1")
        before = children(tree)
        sleeping = frozenset({5, 6, 7})
        cell = replace(FACTS.cells[1], cpus=frozenset({4}), offline=sleeping)
        host.change(cells=(FACTS.cells[0], cell), offline_cpus=sleeping)
        driver.update_provider_tree(tree, "host1")
        assert children(tree) == before
        assert before["numa1"]["PCPU"] == record(4)
        resources = driver.get_available_resource("host1")
        assert json.loads(resources["numa_topology"])["cells"][1]["cpus"] == [4, 5, 6, 7]
        assert resources["vcpus"] == 8

    def test_an_offline_processor_of_an_unknown_cell_is_refused(
        self, make_driver, tree, host, options
    ):
        sleeping = frozenset({4, 5, 6, 7})
        host.change(cells=FACTS.cells[:1], offline_cpus=sleeping)
        more = {"compute__cpu_dedicated_set": "4-7", "libvirt__cpu_power_management": True}
        driver = make_driver(**more, **options)
        with pytest.raises(InvalidConfiguration, match=r"CPUs 4-7, which are offline.*NUMA cell"):
            driver.update_provider_tree(tree, "host1")
        make_driver(**more).update_provider_tree(tree, "host1")
        assert tree.data("host1").inventory["PCPU"] == record(4)

    def test_cards_are_below_their_cell_with_their_networks_trait(
        self, make_driver, tree, host, options
    ):
        host.change(pci_devices=[*network_card("ens1", 1, 4, 1), *network_card("ens2", 2, 4, None)])
        specs = [NETWORK, json.dumps({"devname": "ens2", "physical_network": "two"})]
        make_driver(pci__device_spec=specs, **options).update_provider_tree(tree, "host1")
        assert children(tree)["ens1"] == {"SRIOV_NET_VF": record(4)}
        assert tree.data("host1_ens1").traits == {"CUSTOM_PHYSNET_PHYSNET_1"}
        assert parent_of(tree, "host1_ens1") == "host1_numa1"
        assert parent_of(tree, "host1_ens2") == "host1"

    def test_on_a_flat_host_cards_are_below_the_root(self, make_driver, tree, host):
        host.change(pci_devices=network_card("ens1", 1, 4, 1))
        make_driver(pci__device_spec=[NETWORK]).update_provider_tree(tree, "host1")
        assert parent_of(tree, "host1_ens1") == "host1"

    def test_a_card_put_into_another_network_leaves_the_first(self, make_driver, tree, host):
        host.change(pci_devices=network_card("ens1", 1, 4, 1))
        make_driver(pci__device_spec=[NETWORK]).update_provider_tree(tree, "host1")
        tree.add_traits("host1_ens1", "CUSTOM_OPERATORS")
        moved = NETWORK.replace("physnet-1", "other")
        make_driver(pci__device_spec=[moved]).update_provider_tree(tree, "host1")
        assert tree.data("host1_ens1").traits == {"CUSTOM_OPERATORS", "CUSTOM_PHYSNET_OTHER"}

    def test_a_card_that_vanished_is_removed(self, make_driver, tree, host, options):
        host.change(pci_devices=network_card("ens1", 1, 4, 1))
        driver = make_driver(pci__device_spec=[NETWORK], **options)
        driver.update_provider_tree(tree, "host1")
        host.change(pci_devices=())
        driver.update_provider_tree(tree, "host1")
        assert set(children(tree)) == {"numa0", "numa1"}


class TestResource:
    def test_totals_and_what_guests_are_entitled_to(self, make_driver, host):
        host.there = [pinned(uuid(1), [0, 1], 1024), floating(uuid(2), 3, 2048)]
        found = make_driver(compute__cpu_dedicated_set="0-3").get_available_resource("host1")
        assert (found["vcpus"], found["vcpus_used"]) == (4, 5)
        assert (found["memory_mb"], found["memory_mb_used"]) == (16384, 3072)
        assert (found["local_gb"], found["local_gb_used"]) == (1000, 100)
        assert (found["hypervisor_type"], found["hypervisor_hostname"]) == ("QEMU", "host1")

    def test_what_kinds_of_guests_there_can_be_is_the_hypervisors_to_say(self, make_driver, host):
        host.change(guest_kinds=(("x86_64", "kvm", "hvm"),))
        found = make_driver().get_available_resource("host1")
        assert found["supported_instances"] == [["x86_64", "kvm", "hvm"]]

    def test_cells_and_processor_are_json(self, make_driver):
        found = make_driver().get_available_resource("host1")
        assert [one["cpus"] for one in json.loads(found["numa_topology"])["cells"]] == [
            [0, 1, 2, 3],
            [4, 5, 6, 7],
        ]
        assert json.loads(found["cpu_info"])["features"] == ["avx", "fpu", "lm"]

    def test_devices_guests_may_have_are_listed_with_their_tags(self, make_driver, host):
        host.change(pci_devices=network_card("ens1", 1, 1, 0))
        spec = json.dumps({"product_id": "10ed", "physical_network": "physnet1"})
        found = make_driver(pci__device_spec=[spec]).get_available_resource("host1")
        assert json.loads(found["pci_passthrough_devices"]) == [
            {
                "address": "0000:01:10.0",
                "vendor_id": "8086",
                "product_id": "10ed",
                "dev_type": "type-VF",
                "numa_node": 0,
                "parent_addr": "0000:01:00.0",
                "physical_network": "physnet1",
                "status": "available",
            }
        ]

    def test_another_node_is_not_found(self, make_driver):
        with pytest.raises(ComputeHostNotFound):
            make_driver().get_available_resource("host2")


class TestNode:
    def test_it_is_named_as_the_hypervisor_calls_its_host(self, make_driver, host):
        host.change(hostname="compute.example")
        assert make_driver().get_available_nodes() == ["compute.example"]

    def test_its_name_stays_while_the_service_runs(self, make_driver, host):
        driver = make_driver()
        driver.get_available_nodes()
        host.change(hostname="renamed")
        assert driver.get_available_nodes(refresh=True) == ["host1"]

    def test_it_is_not_ready_while_the_hypervisor_is_not_there(self, make_driver):
        class Absent:
            def facts(self):
                raise VirtDriverNotReady("qemu:///system is not there")

        with pytest.raises(VirtDriverNotReady, match="qemu:///system"):
            make_driver(Absent()).get_available_nodes()

    def test_guests_are_listed_by_name_and_uuid(self, make_driver, host):
        host.there = [floating(uuid(1))]
        driver = make_driver()
        assert driver.list_instance_uuids() == [uuid(1)]
        assert driver.list_instances() == [f"guest {uuid(1)}"]


class TestRefusals:
    @pytest.mark.parametrize(
        "failure", [MalformedXML("device pci_0000_84_00_0", "no"), HostFactsError("/disk", "no")]
    )
    def test_facts_that_make_no_sense_are_refused_naming_what(self, make_driver, tree, failure):
        class Confused(KnownHost):
            def facts(self):
                raise failure

        driver = make_driver(Confused())
        with pytest.raises(InvalidConfiguration, match=str(failure)):
            driver.update_provider_tree(tree, "host1")

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            ({"compute__cpu_shared_set": "0-3", "compute__cpu_dedicated_set": "3"}, "CPU 3"),
            ({"pci__device_spec": ["{"]}, r"\[pci\]device_spec '\{'"),
            (
                {"berth__renamed_resource_classes": {"VGPU": "PGPU", "PGPU": "FPGA"}},
                "renamed_resource_classes.*circle",
            ),
            (
                {"berth__renamed_resource_classes": {"CUSTOM_FPGA": "fpga"}},
                "renamed_resource_classes.*'fpga'",
            ),
            (
                {"berth__renamed_resource_classes": {"GOLD": "CUSTOM_GOLD"}},
                "renamed_resource_classes.*'GOLD'",
            ),
        ],
    )
    def test_contradictory_options_are_refused_at_the_start(self, make_driver, options, complaint):
        with pytest.raises(InvalidConfiguration, match=complaint):
            make_driver(**options)

    def test_a_processor_that_went_offline_is_refused(self, make_driver, tree, host):
        driver = make_driver(compute__cpu_dedicated_set="4-7")
        host.change(cells=FACTS.cells[:1])
        with pytest.raises(InvalidConfiguration, match="cpu_dedicated_set has CPUs 4-7"):
            driver.update_provider_tree(tree, "host1")
