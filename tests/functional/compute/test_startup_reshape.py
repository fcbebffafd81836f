"""The start-up reshape through a real placement service (compute.md §9.3)."""

import pytest
from keystoneauth1.exceptions import ConnectFailure

from compute import exceptions
from compute.report.context import admin_context
from tests.functional.compute.compute_host import ComputeHost, NestingDriver, SpreadingDriver
from virt.fake import (
    FakeBadReshapeDriver,
    FakeNUMAReshapeDriver,
    FakeReshapeFailDriver,
    LegacyInventoryDriver,
    MediumFakeDriver,
    ResourceOnlyDriver,
)
from virt.inventory import record

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
ROOT_INVENTORY = {"VCPU": 10, "MEMORY_MB": 8192, "DISK_GB": 1028}


RESHAPER = "/reshaper"
WHOLE_TREE = "/berth/v1/provider_trees/{}"
#: a test in both ways to reshape: the request, and what counts it
BOTH_WAYS = pytest.mark.parametrize(
    ("request_url", "count"),
    [
        pytest.param(RESHAPER, ComputeHost.reshapes, marks=pytest.mark.one_by_one),
        pytest.param(WHOLE_TREE, ComputeHost.whole_writes),
    ],
    ids=["one by one", "whole"],
)


class Crash(BaseException):
    """The service's process is gone: nothing in it may catch this."""


@pytest.fixture
def flat_host(host, outsider):
    """Return a host with everything on the root and two instances, `first` and `second`."""
    host.start()
    host.first = outsider.allocate({host.uuid: {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}})
    host.second = outsider.allocate({host.uuid: {"VCPU": 1, "MEMORY_MB": 2048, "DISK_GB": 20}})
    return host


def tree_of(outsider, host):
    """name → uuid of all providers in the host's tree."""
    found = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")
    return {provider["name"]: provider["uuid"] for provider in found["resource_providers"]}


def held_of(outsider, provider):
    """consumer → resources held of a provider."""
    found = outsider.call("GET", f"/resource_providers/{provider}/allocations")["allocations"]
    return {consumer: held["resources"] for consumer, held in found.items()}


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
        assert outsider.traits(uuids[f"{spread.name}-numa1"]) == set()
        assert outsider.traits(uuids[f"{spread.name}-pf1_1"]) == {"CUSTOM_PHYSNET_0"}

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


def unchanged(outsider, host):
    """Whether placement has what `flat_host` set up."""
    return (
        outsider.totals(host.uuid) == ROOT_INVENTORY
        and list(outsider.allocations(host.first)) == [host.uuid]
        and list(outsider.allocations(host.second)) == [host.uuid]
    )


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


@BOTH_WAYS
class TestConflicts:
    """R10, R11."""

    def racing(self, outsider, url, times):
        """Have somebody else start an instance just before each of `times` requests to `url`."""
        left = [url] * times

        def prepare(host):
            def before(method, requested):
                if left and method != "GET" and requested == left[0].format(host.uuid):
                    left.pop()
                    outsider.allocate({host.uuid: {"DISK_GB": 1}})

            host.adapter.before = before

        return prepare

    def update_url(self, request_url):
        """Return the URL to which an update without a reshape sends the inventory."""
        return "/resource_providers/{}/inventories" if request_url == RESHAPER else request_url

    def test_r10_a_reshape_that_others_outrun_twice_succeeds_the_third_time(
        self, flat_host, outsider, request_url, count
    ):
        flat_host.start(NestingDriver, prepare=self.racing(outsider, request_url, 2))
        assert count(flat_host) == 3
        assert (
            flat_host.driver.asked
            == [
                (flat_host.name, []),
                (flat_host.name, ["allocations"]),
            ]
            * 3
        )
        numa1 = tree_of(outsider, flat_host)[f"{flat_host.name}_numa1"]
        assert held_of(outsider, numa1) == {
            flat_host.first: {"VCPU": 1},
            flat_host.second: {"VCPU": 1},
        }

    def test_r10_a_reshape_that_others_outrun_four_times_ends_the_service(
        self, flat_host, outsider, request_url, count
    ):
        flat_host.conf.set_override("conflict_retry_time", 0, "berth")
        with pytest.raises(exceptions.ReshapeFailed):
            flat_host.start(NestingDriver, prepare=self.racing(outsider, request_url, 4))
        assert count(flat_host) == 4
        assert unchanged(outsider, flat_host)
        children = set(tree_of(outsider, flat_host).values()) - {flat_host.uuid}
        made = [{}, {}] if request_url == RESHAPER else []
        assert [outsider.totals(child) for child in children] == made

    def test_r10_with_time_left_a_reshape_that_others_outran_many_times_gets_through(
        self, flat_host, outsider, request_url, count
    ):
        flat_host.start(NestingDriver, prepare=self.racing(outsider, request_url, 9))
        assert count(flat_host) == 10
        assert outsider.totals(flat_host.uuid).keys() == {"DISK_GB"}

    def test_r11_an_update_that_others_always_outrun_is_given_up_and_logged(
        self, flat_host, outsider, caplog, request_url, count
    ):
        flat_host.conf.set_override("conflict_retry_time", 0, "berth")
        flat_host.start()
        flat_host.adapter.requests.clear()
        self.racing(outsider, self.update_url(request_url), 4)(flat_host)
        flat_host.driver.vcpus = 20
        outcome = flat_host.update()
        failure = outcome.failures[flat_host.name]
        assert isinstance(failure, exceptions.ResourceProviderUpdateConflict)
        puts = [sent for sent in flat_host.adapter.writes if sent[0] == "PUT"]
        assert len(puts) == 4
        assert "Error updating resources" in caplog.text

    def test_r11_and_the_next_update_works(self, flat_host, outsider, request_url, count):
        flat_host.conf.set_override("conflict_retry_time", 0, "berth")
        flat_host.start()
        self.racing(outsider, self.update_url(request_url), 4)(flat_host)
        flat_host.driver.vcpus = 20
        flat_host.update()
        assert flat_host.update().failures == {}
        assert outsider.totals(flat_host.uuid)["VCPU"] == 20

    def test_a_stale_generation_is_repaired_within_one_update(
        self, flat_host, outsider, request_url, count
    ):
        """compute.md §3.9.8: each allocation makes the cached generation stale."""
        flat_host.start()
        outsider.allocate({flat_host.uuid: {"DISK_GB": 1}})
        flat_host.driver.vcpus = 20
        assert flat_host.update().failures == {}
        assert outsider.totals(flat_host.uuid)["VCPU"] == 20


class TestWhatPlacementRefuses:
    """R12."""

    @pytest.mark.parametrize("what", ["class", "trait"])
    def test_r12_a_name_that_does_not_exist_is_logged_and_the_service_goes_on(
        self, host, outsider, what
    ):
        class BogusDriver(MediumFakeDriver):
            def update_provider_tree(self, tree, nodename, allocations=None):
                super().update_provider_tree(tree, nodename, allocations)
                if what == "class":
                    inventory = tree.data(nodename).inventory
                    tree.update_inventory(nodename, {**inventory, "FOO": record(1)})
                else:
                    tree.add_traits(nodename, "FOO")

        host.start(BogusDriver)
        assert isinstance(host.outcome.failures[host.name], exceptions.ResourceProviderSyncFailed)
        with pytest.raises(exceptions.ResourceProviderSyncFailed):
            host.manager.rt.update_available_resource(admin_context(), host.name)
        names = outsider.call("GET", "/resource_classes")["resource_classes"]
        assert "FOO" not in {entry["name"] for entry in names}
        assert "FOO" not in outsider.call("GET", "/traits")["traits"]


class TestCrash:
    """R33."""

    def crash_at_the_reshape(self, host):
        def before(method, url):
            if method != "GET" and url in (RESHAPER, WHOLE_TREE.format(host.uuid)):
                raise Crash

        host.adapter.before = before

    def test_before_a_whole_write_leaves_nothing_and_the_next_start_completes(
        self, flat_host, outsider
    ):
        with pytest.raises(Crash):
            flat_host.start(NestingDriver, prepare=self.crash_at_the_reshape)
        assert set(tree_of(outsider, flat_host)) == {flat_host.name}
        assert unchanged(outsider, flat_host)
        flat_host.start(NestingDriver)
        made = tree_of(outsider, flat_host)
        assert outsider.allocations(flat_host.first) == {
            flat_host.uuid: {"DISK_GB": 1},
            made[f"{flat_host.name}_numa1"]: {"VCPU": 1},
            made[f"{flat_host.name}_numa2"]: {"MEMORY_MB": 512},
        }

    @pytest.mark.one_by_one
    def test_r33_between_the_children_and_the_reshape_leaves_only_empty_children(
        self, flat_host, outsider
    ):
        with pytest.raises(Crash):
            flat_host.start(NestingDriver, prepare=self.crash_at_the_reshape)
        children = set(tree_of(outsider, flat_host).values()) - {flat_host.uuid}
        assert [outsider.totals(child) for child in children] == [{}, {}]
        assert unchanged(outsider, flat_host)

    @pytest.mark.one_by_one
    def test_r33_the_next_start_uses_those_children_and_completes(self, flat_host, outsider):
        with pytest.raises(Crash):
            flat_host.start(NestingDriver, prepare=self.crash_at_the_reshape)
        before = tree_of(outsider, flat_host)
        flat_host.start(NestingDriver)
        assert tree_of(outsider, flat_host) == before
        assert outsider.allocations(flat_host.first) == {
            flat_host.uuid: {"DISK_GB": 1},
            before[f"{flat_host.name}_numa1"]: {"VCPU": 1},
            before[f"{flat_host.name}_numa2"]: {"MEMORY_MB": 512},
        }

    @BOTH_WAYS
    def test_right_after_the_reshape_the_next_start_finds_nothing_left_to_move(
        self, flat_host, outsider, request_url, count
    ):
        def crash_after(host):
            def after(method, url):
                if count(host):
                    raise Crash

            host.adapter.after = after

        with pytest.raises(Crash):
            flat_host.start(NestingDriver, prepare=crash_after)
        flat_host.start(NestingDriver)
        assert flat_host.adapter.writes == []
        assert outsider.totals(flat_host.uuid) == {"DISK_GB": 1028}


class TestPlacementDown:
    """R34."""

    def unreachable(self, host):
        def before(method, url):
            raise ConnectFailure("nobody there")

        host.adapter.before = before

    def test_r34_at_the_start_it_is_logged_and_the_service_is_up(self, host, caplog):
        host.start(prepare=self.unreachable)
        assert isinstance(host.outcome.failures[host.name], ConnectFailure)
        assert "Error updating resources" in caplog.text

    def test_r34_the_next_update_makes_everything(self, host, outsider):
        host.start(prepare=self.unreachable)
        host.adapter.before = None
        assert host.update().failures == {}
        assert tree_of(outsider, host) == {host.name: host.uuid}
        assert outsider.totals(host.uuid) == ROOT_INVENTORY

    @BOTH_WAYS
    def test_during_the_reshape_it_ends_the_service(self, flat_host, outsider, request_url, count):
        def prepare(host):
            def before(method, url):
                if url == request_url.format(host.uuid):
                    raise ConnectFailure("nobody there")

            host.adapter.before = before

        with pytest.raises(exceptions.ReshapeFailed):
            flat_host.start(NestingDriver, prepare=prepare)
        assert unchanged(outsider, flat_host)
