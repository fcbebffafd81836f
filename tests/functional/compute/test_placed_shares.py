"""What a tracker writes for a guest, and where, on hosts that are more than a root."""

from uuid import uuid4

import pytest

from compute import exceptions
from compute.metrics.agent import AgentMetrics
from tests.functional.compute.shaped_hosts import ShapedHost, cells
from tests.unit.compute.metrics.test_agent_metrics import shown

CELL = {"VCPU": 2, "MEMORY_MB": 512}
PINNED = {"hw:cpu_policy": "dedicated"}


@pytest.fixture
def shaped(request, host, outsider):
    """Return a function that lays out the host."""

    def made(layout):
        return ShapedHost(host, outsider, request.param, layout)

    return made


def test_a50_a_host_with_cells_gives_each_guest_all_it_asks_for_or_refuses_it(shaped):
    host = shaped(cells(vcpus=20, memory_mb=100000))
    guests = [host.claimed(vcpus=8) for _ in range(4)]
    refused = host.guest(vcpus=8)
    with pytest.raises(
        exceptions.ComputeResourcesUnavailable, match=r"no room for 8 VCPU \(free: .*4.*4"
    ):
        host.claim(refused)
    own = {"VCPU": 8, "MEMORY_MB": 512}
    assert [host.held(one) for one in guests] == [
        {"": {"DISK_GB": 1}, cell: own} for cell in ("numa0", "numa0", "numa1", "numa1")
    ]
    assert host.held(refused) == {}
    assert refused.host is None


def test_usages_come_with_the_tree_where_the_service_has_whole_trees(shaped):
    host = shaped(cells(vcpus=20, memory_mb=100000))
    host.claimed(vcpus=8)
    host.claimed(vcpus=8)
    assert not [url for _, url, *_ in host.host.adapter.requests if url.endswith("/usages")]


def test_a51_a_host_with_cells_gives_a_guest_the_cells_that_it_was_fitted_to(shaped):
    host = shaped(cells())
    topology = {"cells": [{"id": 1, "vcpus": 2, "memory_mb": 512}]}
    guest = host.running(numa_topology=topology)
    host.update()
    assert host.held(guest) == {"": {"DISK_GB": 1}, "numa1": CELL}


def test_a52_a_host_with_cells_gives_a_guest_that_runs_what_the_hypervisor_knows(shaped):
    host = shaped(cells())
    guest = host.running()
    host.places[guest.uuid] = {"numa1": CELL}
    host.update()
    assert host.held(guest) == {"": {"DISK_GB": 1}, "numa1": CELL}


def test_a53_a_host_with_cells_leaves_guests_alone_that_hold_what_they_should(shaped):
    host = shaped(cells())
    guest = host.claimed()
    host.update()
    host.host.adapter.requests.clear()
    host.update()
    assert host.host.adapter.writes == []
    assert host.held(guest) == {"": {"DISK_GB": 1}, "numa0": CELL}


def test_a54_a_guest_that_runs_gets_as_much_as_there_is_and_the_rest_is_told_once(
    shaped, host, caplog
):
    host.watcher = AgentMetrics()
    small = shaped(cells(vcpus=1))
    guest = small.running(vcpus=3)
    small.update()
    small.update()
    found = small.held(guest)
    assert sum(part.get("VCPU", 0) for part in found.values()) == 2
    told = [one.getMessage() for one in caplog.records if guest.uuid in one.getMessage()]
    assert sum("lacks 1 VCPU" in text for text in told) == 1
    counted = shown(host.watcher)
    assert counted["berth_compute_unplaced_total", "VCPU"] == 1
    assert counted["berth_compute_unplaced_total", "MEMORY_MB"] == 0


def test_a55_processors_of_its_own_are_pcpu_until_none_is_left(shaped):
    host = shaped({"": {"VCPU": 8, "PCPU": 3, "MEMORY_MB": 4096, "DISK_GB": 100}})
    guest = host.claimed(specs=PINNED)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="no room for 2 PCPU"):
        host.claim(host.guest(specs=PINNED))
    assert host.held(guest) == {"": {"PCPU": 2, "MEMORY_MB": 512, "DISK_GB": 1}}


def test_a56_processors_of_its_own_are_found_though_vcpu_are_gone(shaped):
    host = shaped({"": {"PCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 100}})
    guest = host.claimed(specs=PINNED)
    assert host.held(guest) == {"": {"PCPU": 2, "MEMORY_MB": 512, "DISK_GB": 1}}


def test_a57_processors_of_both_kinds_are_on_one_cell(shaped):
    host = shaped(cells(PCPU=2))
    specs = {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0"}
    host.claimed(specs=PINNED)
    guest = host.claimed(vcpus=3, specs=specs)
    assert host.held(guest) == {
        "": {"DISK_GB": 1},
        "numa1": {"VCPU": 1, "PCPU": 2, "MEMORY_MB": 512},
    }


def test_a58_vgpu_of_a_card_is_written_or_refused(shaped):
    root = {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 100}
    host = shaped({"": root, "card0": {"VGPU": 1}, "card1": {"VGPU": 1}})
    specs = {"resources:VGPU": "1"}
    first, second = host.claimed(specs=specs), host.claimed(specs=specs)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="no room for 1 VGPU"):
        host.claim(host.guest(specs=specs))
    own = {**CELL, "DISK_GB": 1}
    assert host.held(first) == {"": own, "card0": {"VGPU": 1}}
    assert host.held(second) == {"": own, "card1": {"VGPU": 1}}


def test_a59_no_provider_with_a_class_is_a_refusal(shaped):
    host = shaped({"": {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 100}})
    for specs, name in (
        ({"resources:VGPU": "1"}, "1 VGPU"),
        ({"hw:mem_encryption": "true"}, "1 MEM_ENCRYPTION_CONTEXT"),
        ({"hw:pmem": "6GB,6GB"}, "2 CUSTOM_PMEM_NAMESPACE_6GB"),
    ):
        with pytest.raises(
            exceptions.ComputeResourcesUnavailable, match=rf"no room for {name} \(no provider"
        ):
            host.claim(host.guest(specs=specs))


def test_a60_encryption_contexts_are_written(shaped):
    root = {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 100}
    host = shaped({"": root, "sev": {"MEM_ENCRYPTION_CONTEXT": 1}})
    guest = host.claimed(specs={"hw:mem_encryption": "true"})
    assert host.held(guest)["sev"] == {"MEM_ENCRYPTION_CONTEXT": 1}


def test_a61_a_group_comes_from_one_provider_with_its_traits(shaped):
    root = {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 100}
    host = shaped({"": root, "card0": {"VGPU": 4}, "card1": {"VGPU": 4}})
    host.traits["card1"] = ["CUSTOM_FAST"]
    host.start()
    fast = {"resources1:VGPU": "2", "trait1:CUSTOM_FAST": "required"}
    assert host.held(host.claimed(specs=fast))["card1"] == {"VGPU": 2}
    apart = {"resources1:VGPU": "1", "resources2:VGPU": "1", "group_policy": "isolate"}
    found = host.held(host.claimed(specs=apart))
    assert (found["card0"], found["card1"]) == ({"VGPU": 1}, {"VGPU": 1})
    slow = {"resources1:VGPU": "1", "trait1:CUSTOM_SLOW": "required"}
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="CUSTOM_SLOW"):
        host.claim(host.guest(specs=slow))


@pytest.fixture
def pooled(shaped, outsider):
    """Return a host without a disk of its own, whose aggregate has a pool."""
    host = shaped({"": {"VCPU": 8, "MEMORY_MB": 4096}})
    host.aggregates = [str(uuid4())]
    host.pool = outsider.provider(
        inventory={"DISK_GB": {"total": 30}},
        traits=["MISC_SHARES_VIA_AGGREGATE"],
        aggregates=host.aggregates,
    )
    host.start()
    host.update()
    return host


def test_a62_disk_of_a_pool_is_written_or_refused(pooled):
    guest = pooled.claimed(root_gb=20)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="no room for 20 DISK_GB"):
        pooled.claim(pooled.guest(root_gb=20))
    assert pooled.held(guest) == {"": CELL, pooled.pool: {"DISK_GB": 20}}


@pytest.fixture
def two(shaped):
    return shaped(cells())


def test_a63_a_resize_holds_both_shares_below_the_root_until_it_ends(two):
    guest = two.claimed()
    move = two.resized(guest, vcpus=9, memory_mb=1024)
    new = {"VCPU": 9, "MEMORY_MB": 1024}
    assert two.held(guest) == {"": {"DISK_GB": 2}, "numa0": CELL, "numa1": new}
    two.update()
    assert two.held(guest) == {"": {"DISK_GB": 2}, "numa0": CELL, "numa1": new}
    two.confirm(guest, move)
    assert two.held(guest) == {"": {"DISK_GB": 1}, "numa1": new}


def test_a64_a_resize_that_is_reverted_leaves_the_old_share_where_it_was(two):
    two.allocate(str(uuid4()), {"numa0": {"VCPU": 10}})
    guest = two.claimed()
    assert two.held(guest) == {"": {"DISK_GB": 1}, "numa1": CELL}
    move = two.resized(guest, vcpus=3, specs={"resources:MEMORY_MB": "0"})
    two.revert(guest, move)
    assert two.held(guest) == {"": {"DISK_GB": 1}, "numa1": CELL}


def test_a65_a_resize_without_room_is_refused_and_changes_nothing(two):
    guest = two.claimed()
    for fields, why in (
        ({"vcpus": 11}, "no room for 11 VCPU"),
        ({"specs": {"resources:VGPU": "1"}}, "no room for 1 VGPU"),
    ):
        with pytest.raises(exceptions.ComputeResourcesUnavailable, match=why):
            two.resized(guest, **fields)
        assert two.held(guest) == {"": {"DISK_GB": 1}, "numa0": CELL}
    assert two.host.cell.own_allocations.of_node(two.host.uuid) == {guest.uuid}


@pytest.mark.parametrize("kind", ["live-migration", "evacuation"])
def test_a66_who_comes_is_placed_or_refused(two, outsider, kind):
    elsewhere = outsider.provider(inventory={"VCPU": {"total": 8}})
    guest = two.guest()
    outsider.allocate({elsewhere: {"VCPU": 2}}, guest.uuid)
    two.comes(guest, kind)
    assert two.held(guest) == {
        elsewhere: {"VCPU": 2},
        "": {"DISK_GB": 1},
        "numa0": CELL,
    }
    large = two.guest(vcpus=11)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="no room for 11 VCPU"):
        two.comes(large, kind)
    assert two.held(large) == {}


@pytest.fixture
def named(shaped):
    name = "CUSTOM_PMEM_NAMESPACE_6GB"
    root = {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 100, name: 3}
    host = shaped({"": root})
    host.names = {"": {name: ("ns_0", "ns_1", "ns_2")}}
    host.start()
    return host


def test_a67_named_resources_are_allocated_and_assigned_or_refused(named):
    specs = {"hw:pmem": "6GB,6GB"}
    guest = named.claimed(specs=specs)
    assert named.held(guest)[""]["CUSTOM_PMEM_NAMESPACE_6GB"] == 2
    assert [one.identifier for one in guest.resources] == ["ns_0", "ns_1"]
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="CUSTOM_PMEM"):
        named.claim(named.guest(specs=specs))


def test_a68_named_resources_of_both_sides_of_a_resize_differ(named):
    guest = named.claimed(specs={"hw:pmem": "6GB"})
    move = named.resized(guest, specs={"hw:pmem": "6GB,6GB"})
    assert named.held(guest)[""]["CUSTOM_PMEM_NAMESPACE_6GB"] == 3
    new = guest.migration_context.new_resources
    assert [one.identifier for one in new] == ["ns_1", "ns_2"]
    named.confirm(guest, move)
    assert named.held(guest)[""]["CUSTOM_PMEM_NAMESPACE_6GB"] == 2
    assert [one.identifier for one in guest.resources] == ["ns_1", "ns_2"]


class TestWrongAmounts:
    @pytest.fixture
    def tracked(self, host, outsider):
        return ShapedHost(host, outsider, "tracker", cells(PCPU=4))

    def test_are_put_right_below_the_root(self, tracked):
        guest = tracked.claimed()
        tracked.allocate(guest, {"": {"DISK_GB": 5}, "numa1": {"VCPU": 1, "MEMORY_MB": 99}})
        tracked.update()
        assert tracked.held(guest) == {"": {"DISK_GB": 1}, "numa1": CELL}

    def test_after_a_reshape_are_not_doubled(self, tracked):
        guest = tracked.claimed(specs=PINNED)
        own = {"PCPU": 2, "MEMORY_MB": 512}
        tracked.allocate(guest, {"": {"DISK_GB": 1}, "numa0": {**own, "VCPU": 2}})
        tracked.update()
        assert tracked.held(guest) == {"": {"DISK_GB": 1}, "numa0": own}

    def test_are_none_if_an_image_may_have_dedicated_the_processors(self, tracked):
        parts = {"": {"DISK_GB": 1}, "numa1": {"PCPU": 2, "MEMORY_MB": 512}}
        guest = tracked.running()
        tracked.allocate(guest, parts)
        tracked.update()
        assert tracked.held(guest) == parts

    def test_of_the_hypervisors_other_cell_are_moved_there(self, tracked):
        guest = tracked.claimed()
        tracked.places[guest.uuid] = {"numa1": CELL}
        tracked.start()
        assert tracked.held(guest) == {"": {"DISK_GB": 1}, "numa1": CELL}

    def test_leave_what_others_own(self, tracked, outsider):
        guest = tracked.claimed()
        network = outsider.provider(
            "network", tracked.uuid(), {"NET_BW_EGR_KILOBIT_PER_SEC": {"total": 100}}
        )
        held = outsider.allocations(guest.uuid)
        outsider.allocate({**held, network: {"NET_BW_EGR_KILOBIT_PER_SEC": 9}}, guest.uuid)
        guest.flavor.vcpus = 3
        tracked.host.cell.instances.save(guest)
        tracked.update()
        assert outsider.allocations(guest.uuid)[network] == {"NET_BW_EGR_KILOBIT_PER_SEC": 9}
        assert tracked.held(guest)["numa0"] == {"VCPU": 3, "MEMORY_MB": 512}


class TestSecondActors:
    def test_who_takes_a_cell_between_two_steps_has_it_and_the_claim_another(self, shaped):
        host = shaped(cells())
        guest = host.guest(vcpus=8)

        def others_come_first(method, url):
            if method == "PUT" and url == f"/allocations/{guest.uuid}":
                host.host.adapter.before = None
                host.allocate(str(uuid4()), {"numa0": {"VCPU": 8}})

        host.host.adapter.before = others_come_first
        host.claim(guest)
        assert host.held(guest)["numa1"] == {"VCPU": 8, "MEMORY_MB": 512}

    def test_what_an_agent_of_the_version_before_left_out_is_written(self, shaped):
        host = shaped(cells())
        guest = host.running()
        host.host.cell.own_allocations.add(guest.uuid, host.host.uuid)
        host.allocate(guest, {"": {"DISK_GB": 1}})
        host.start()
        assert host.held(guest) == {"": {"DISK_GB": 1}, "numa0": CELL}

    def test_a_guest_that_lacks_something_may_be_resized(self, shaped):
        host = shaped(cells())
        guest = host.running(specs={"resources:VGPU": "1"})
        host.update()
        host.resized(guest, vcpus=1)
        both = {"VCPU": 3, "MEMORY_MB": 1024}
        assert host.held(guest) == {"": {"DISK_GB": 2}, "numa0": both}

    def test_a_resize_of_a_guest_of_the_scheduler_takes_its_new_share(self, shaped):
        host = shaped(cells())
        guest = host.guest()
        parts = {"": {"DISK_GB": 1}, "numa1": CELL}
        host.allocate(guest, parts)
        given = {host.uuid(suffix): {"resources": part} for suffix, part in parts.items()}
        host.claim(guest, given)
        move = host.resized(guest, vcpus=3)
        new = {"VCPU": 5, "MEMORY_MB": 1024}
        assert host.held(guest) == {"": {"DISK_GB": 2}, "numa1": new}
        host.claimed(vcpus=6)
        with pytest.raises(exceptions.ComputeResourcesUnavailable, match="no room for 6 VCPU"):
            host.claimed(vcpus=6)
        host.revert(guest, move)
        assert host.held(guest) == parts

    def test_a_resize_that_is_refused_leaves_the_scheduler_its_guest(self, host, outsider):
        flat = ShapedHost(
            host, outsider, "auto", {"": {"VCPU": 4, "MEMORY_MB": 4096, "DISK_GB": 9}}
        )
        guest = flat.guest()
        parts = {"": {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 1}}
        flat.allocate(guest, parts)
        flat.claim(guest)
        with pytest.raises(exceptions.ComputeResourcesUnavailable, match="no room for 3 VCPU"):
            flat.resized(guest, vcpus=3)
        assert flat.held(guest) == parts
        assert host.cell.own_allocations.of_node(host.uuid) == set()


class TestWhatOthersWrote:
    """It is judged class by class, told once, and left alone."""

    @pytest.fixture(params=["scheduler", "auto"])
    def scheduled(self, request, host, outsider):
        host.watcher = AgentMetrics()
        return ShapedHost(host, outsider, request.param, cells(PCPU=4))

    def told(self, caplog, guest):
        texts = [record.getMessage() for record in caplog.records]
        return [text for text in texts if guest.uuid in text]

    def test_less_than_the_flavor_asks_for(self, scheduled, host, caplog):
        guest = scheduled.running(specs={"resources1:VGPU": "1"})
        scheduled.allocate(guest, {"": {"DISK_GB": 1}, "numa0": {"VCPU": 1}})
        scheduled.start()
        scheduled.running()
        scheduled.update()
        (told,) = self.told(caplog, guest)
        assert "lacks 512 MEMORY_MB, 1 VCPU, 1 VGPU in placement" in told
        assert scheduled.held(guest) == {"": {"DISK_GB": 1}, "numa0": {"VCPU": 1}}
        assert shown(host.watcher)["berth_compute_unplaced_total", "VGPU"] == 1

    def test_processors_of_both_kinds_after_a_change(self, scheduled, caplog):
        guest = scheduled.running(specs=PINNED)
        own = {"VCPU": 2, "PCPU": 2, "MEMORY_MB": 512}
        scheduled.allocate(guest, {"": {"DISK_GB": 1}, "numa0": own})
        scheduled.start()
        (told,) = self.told(caplog, guest)
        assert "has 2 VCPU too much in placement" in told
        assert scheduled.held(guest)["numa0"] == own

    def test_all_that_is_asked_is_nothing_to_tell(self, scheduled, outsider, caplog):
        scheduled.layout = {**scheduled.layout, "": {}}
        scheduled.aggregates = [str(uuid4())]
        pool = outsider.provider(
            inventory={"DISK_GB": {"total": 30}},
            traits=["MISC_SHARES_VIA_AGGREGATE"],
            aggregates=scheduled.aggregates,
        )
        scheduled.start()
        scheduled.host.manager.reset()
        guest = scheduled.running()
        parts = {pool: {"DISK_GB": 1}, scheduled.uuid("numa1"): CELL}
        outsider.allocate(parts, guest.uuid)
        scheduled.update()
        scheduled.start()
        assert self.told(caplog, guest) == []
