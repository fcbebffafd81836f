"""The start-up reshape through a real placement service (compute.md §9.3)."""

import pytest

from compute import exceptions
from tests.functional.compute.compute_host import NestingDriver, SpreadingDriver
from tests.functional.compute.flat_host import (
    BOTH_WAYS,
    ROOT_INVENTORY,
    held_of,
    tree_of,
    unchanged,
)
from virt.fake import (
    FakeBadReshapeDriver,
    FakeNUMAReshapeDriver,
    FakeReshapeFailDriver,
    LegacyInventoryDriver,
    ResourceOnlyDriver,
)

CAPABILITIES = {
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_DEVICE_TAGGING",
    "COMPUTE_NET_ATTACH_INTERFACE_WITH_TAG",
    "COMPUTE_VOLUME_ATTACH_WITH_TAG",
    "COMPUTE_VOLUME_EXTEND",
    "COMPUTE_VOLUME_MULTI_ATTACH",
    "COMPUTE_TRUSTED_CERTS",
    "COMPUTE_ACCELERATORS",
    "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
    "COMPUTE_ADDRESS_SPACE_EMULATED",
    "COMPUTE_SECURITY_STATELESS_FIRMWARE",
    "COMPUTE_STORAGE_VIRTIO_FS",
    "COMPUTE_MEM_BACKING_FILE",
    "COMPUTE_IMAGE_TYPE_RAW",
}


def gathers_allocations(adapter):
    return [sent for sent in adapter.requests if "allocations" in sent[1]]


class TestFirstStart:
    """R1, R2, R9."""

    def test_r1_makes_one_provider_named_like_the_node_with_the_uuid_of_its_record(
        self, host, outsider
    ):
        host.start()
        assert tree_of(outsider, host) == {host.name: host.uuid}

    def test_r1_reports_what_the_driver_has(self, host, outsider):
        host.start()
        units = {"min_unit": 1, "step_size": 1}
        assert outsider.inventory(host.uuid) == {
            "VCPU": {"total": 10, "max_unit": 10, "reserved": 0, "allocation_ratio": 4.0, **units},
            "MEMORY_MB": {
                "total": 8192,
                "max_unit": 8192,
                "reserved": 512,
                "allocation_ratio": 1.0,
                **units,
            },
            "DISK_GB": {
                "total": 1028,
                "max_unit": 1028,
                "reserved": 0,
                "allocation_ratio": 1.0,
                **units,
            },
        }

    def test_r1_reports_what_the_driver_can_do(self, host, outsider):
        host.start()
        assert outsider.traits(host.uuid) == CAPABILITIES | {"COMPUTE_NODE", "OWNER_NOVA"}

    def test_r9_neither_reads_allocations_nor_reshapes_where_nothing_must_move(self, host):
        host.start()
        assert (gathers_allocations(host.adapter), host.reshapes()) == ([], 0)

    def test_r2_a_second_update_of_an_unchanged_host_sends_nothing(self, host):
        host.start()
        sent = len(host.adapter.requests)
        host.update()
        assert host.adapter.requests[sent:] == []

    def test_a_restart_of_an_unchanged_host_writes_nothing(self, host):
        host.start()
        host.start()
        assert host.adapter.writes == []

    @pytest.mark.parametrize("driver_class", [LegacyInventoryDriver, ResourceOnlyDriver])
    def test_r27_a_driver_from_before_provider_trees_reports_the_same(
        self, host, outsider, driver_class
    ):
        """R27"""
        host.start(driver_class)
        assert outsider.totals(host.uuid) == ROOT_INVENTORY
        inventory = outsider.inventory(host.uuid)
        assert inventory["VCPU"]["allocation_ratio"] == 4.0
        assert inventory["MEMORY_MB"]["reserved"] == 512
        assert outsider.traits(host.uuid) == CAPABILITIES | {"COMPUTE_NODE", "OWNER_NOVA"}


class TestReshapeAtStartUp:
    """R4, R5."""

    @pytest.fixture
    def spread(self, flat_host):
        flat_host.start(SpreadingDriver)
        return flat_host

    def test_r4_the_providers_are_those_the_driver_laid_out(self, spread, outsider):
        found = outsider.call("GET", f"/resource_providers?in_tree={spread.uuid}")
        name_of = {p["uuid"]: p["name"] for p in found["resource_providers"]}
        parents = {
            p["name"].removeprefix(f"{spread.name}-"): name_of.get(
                p["parent_provider_uuid"], ""
            ).removeprefix(f"{spread.name}-")
            for p in found["resource_providers"]
        }
        assert parents == {
            spread.name: "",
            "numa1": spread.name,
            "numa2": spread.name,
            "pf1_1": "numa1",
            "pf1_2": "numa1",
            "pf2_1": "numa2",
            "pf2_2": "numa2",
        }
        assert outsider.shown(spread.driver.pool)["parent_provider_uuid"] is None

    def test_r5_the_inventory_moved_and_the_root_has_none(self, spread, outsider):
        uuids = tree_of(outsider, spread)
        totals = {
            name.removeprefix(f"{spread.name}-"): outsider.totals(u) for name, u in uuids.items()
        }
        assert totals == {
            spread.name: {},
            "numa1": {"VCPU": 10, "MEMORY_MB": 1048576},
            "numa2": {"VCPU": 20, "MEMORY_MB": 2097152},
            "pf1_1": {"SRIOV_NET_VF": 2},
            "pf1_2": {"SRIOV_NET_VF": 3},
            "pf2_1": {"SRIOV_NET_VF": 3},
            "pf2_2": {"SRIOV_NET_VF": 4},
        }
        assert outsider.totals(spread.driver.pool) == {"DISK_GB": 500}

    def test_r5_the_allocations_moved_along(self, spread, outsider):
        uuids = tree_of(outsider, spread)
        held = {
            name.removeprefix(f"{spread.name}-"): held_of(outsider, u) for name, u in uuids.items()
        }
        first, second = spread.first, spread.second
        assert held == {
            spread.name: {},
            "numa1": {first: {"VCPU": 1}, second: {"VCPU": 1}},
            "numa2": {first: {"MEMORY_MB": 512}, second: {"MEMORY_MB": 2048}},
            "pf1_1": {first: {"SRIOV_NET_VF": 1}, second: {"SRIOV_NET_VF": 1}},
            "pf1_2": {},
            "pf2_1": {},
            "pf2_2": {},
        }
        assert held_of(outsider, spread.driver.pool) == {
            first: {"DISK_GB": 1},
            second: {"DISK_GB": 20},
        }

    def test_r4_only_the_root_has_the_traits_of_a_node(self, spread, outsider):
        uuids = tree_of(outsider, spread)
        assert outsider.traits(uuids[spread.name]) >= CAPABILITIES
        assert outsider.traits(uuids[f"{spread.name}-numa1"]) == {"OWNER_NOVA"}
        assert outsider.traits(uuids[f"{spread.name}-pf1_1"]) == {"CUSTOM_PHYSNET_0", "OWNER_NOVA"}

    def test_r4_only_the_root_and_the_pool_are_in_the_aggregate(self, spread, outsider):
        uuids = [*tree_of(outsider, spread).values(), spread.driver.pool]
        members = {u for u in uuids if outsider.aggregates(u) == {spread.driver.aggregate}}
        assert members == {spread.uuid, spread.driver.pool}

    def test_r5_the_driver_is_asked_twice_and_placement_once(self, spread):
        assert spread.driver.asked == [(spread.name, []), (spread.name, ["allocations"])]
        assert spread.reshapes() == 1

    def test_the_next_update_sends_nothing(self, spread):
        sent = len(spread.adapter.requests)
        spread.update()
        assert spread.adapter.requests[sent:] == []

    @BOTH_WAYS
    def test_a_host_without_allocations_is_reshaped_as_well(
        self, host, outsider, request_url, count
    ):
        host.start()
        host.start(NestingDriver)
        assert outsider.totals(host.uuid) == {"DISK_GB": 1028}
        assert count(host) == 1

    def test_r4_a_layout_made_from_scratch_is_no_reshape(self, host, outsider):
        """R4: nothing to move where there was nothing."""
        host.start(SpreadingDriver)
        assert len(tree_of(outsider, host)) == 7
        assert host.reshapes() == 0

    def test_numa_cells_take_over_from_the_root_with_nothing_lost(self, flat_host, outsider):
        flat_host.start(FakeNUMAReshapeDriver)
        held = outsider.allocations(flat_host.second)
        assert held.pop(flat_host.uuid) == {"DISK_GB": 20}
        assert list(held.values()) == [{"VCPU": 1, "MEMORY_MB": 2048}]

    def test_r35_an_operator_s_own_child_provider_stays_as_it_is(self, flat_host, outsider):
        """R35"""
        child = outsider.provider(
            parent=flat_host.uuid, inventory={"CUSTOM_GPS": {"total": 1}}, traits=["CUSTOM_ROOF"]
        )
        flat_host.start(NestingDriver)
        assert outsider.totals(child) == {"CUSTOM_GPS": 1}
        assert outsider.traits(child) == {"CUSTOM_ROOF"}


class TestReshapeThatMayNotBe:
    """R6, R7, R8."""

    def test_r6_in_a_periodic_update_the_need_passes_and_nothing_is_read_or_written(
        self, flat_host, outsider
    ):
        flat_host.start()
        nesting = NestingDriver(None, flat_host.conf)
        nesting.init_host(flat_host.name)
        flat_host.driver.update_provider_tree = nesting.update_provider_tree
        sent = len(flat_host.adapter.requests)
        with pytest.raises(exceptions.ReshapeNeeded):
            flat_host.update()
        assert flat_host.adapter.requests[sent:] == []
        assert unchanged(outsider, flat_host)

    def test_r7_a_driver_that_keeps_asking_ends_the_service_and_nothing_is_written(
        self, flat_host, outsider
    ):
        with pytest.raises(exceptions.ReshapeNeeded):
            flat_host.start(FakeBadReshapeDriver)
        assert flat_host.adapter.writes == []
        assert unchanged(outsider, flat_host)

    def test_r8_a_driver_that_can_not_reshape_ends_the_service_and_nothing_is_written(
        self, flat_host, outsider
    ):
        with pytest.raises(exceptions.ReshapeFailed):
            flat_host.start(FakeReshapeFailDriver)
        assert flat_host.adapter.writes == []
        assert unchanged(outsider, flat_host)

    @BOTH_WAYS
    def test_a_reshape_placement_refuses_ends_the_service_and_changes_nothing(
        self, flat_host, outsider, request_url, count
    ):
        class ForgetsTheSecond(NestingDriver):
            def move(self, allocations, tree, nodename, children):
                del allocations[max(allocations)]
                super().move(allocations, tree, nodename, children)

        with pytest.raises(exceptions.ReshapeFailed):
            flat_host.start(ForgetsTheSecond)
        assert count(flat_host) == 1
        assert unchanged(outsider, flat_host)
