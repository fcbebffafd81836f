"""What an instance on its way holds, at three hosts and a real placement (compute.md §4.9–4.11)."""

import pytest

from compute import exceptions
from compute.records.instance import Instance
from compute.records.migration import Migration
from tests.properties.flaky_hosts import (
    CARD,
    CONTEXT,
    FLAVORS,
    FUNCTION,
    PLACEMENT_IS_AWAY,
    WHOLE,
    Settings,
)
from tests.properties.moving_hosts import World

TINY, SMALL, LARGE = FLAVORS
WRITERS = ("scheduler", "auto", "tracker")


@pytest.fixture
def new_world(new_adapter, tmp_path):
    """Return a function that makes three hosts of one cell."""

    def new(writer, report_in_placement=False):
        return World(new_adapter, Settings(writer, report_in_placement), tmp_path)

    return new


def built(world, host, flavor=SMALL, devices=None, cell=None, by_scheduler=None):
    """Return a guest on the host. The scheduler allocates if no tracker would."""
    if by_scheduler is None:
        by_scheduler = world.settings.allocation_writer == "scheduler"
    spec = devices and {"resource_class": devices}
    guest = world.create(flavor, spec, by_scheduler=by_scheduler)
    if cell:
        with world.changed(guest) as instance:
            instance.numa_topology = {"cells": [cell]}
    assert world.build(guest, host)
    return guest


def refused(world, host, **wanted):
    """Whether another guest finds no room on the host."""
    devices = wanted.get("devices")
    guest = world.create(TINY, devices and {"resource_class": devices})
    if "cell" in wanted:
        with world.changed(guest) as instance:
            instance.numa_topology = {"cells": [wanted["cell"]]}
    return not world.build(guest, host)


def resize(world, guest, dest, flavor=LARGE, until="resized"):
    """Take a resize as far as `until`."""
    world.start_move(guest, dest, "resize", flavor)
    assert world.claim_move(guest)
    if until != "claimed":
        world.switch(guest)
    if until == "resized":
        world.finish(guest)


def migrate_live(world, guest, dest):
    world.start_move(guest, dest, "live-migration")
    assert world.claim_move(guest)
    world.complete(guest)


def devices_of(world, guest, side="pci_devices"):
    instance = world.instance(guest)
    found = instance.pci_devices if side == "pci_devices" else None
    found = getattr(instance.migration_context, side) if found is None else found
    return [device["address"] for device in found]


def held(world, consumer, host):
    """Return provider → class → amount that a consumer has; names lack the host's name."""
    names = world._tree(host)
    return {
        names[uuid].removeprefix(host.name).removeprefix("_").lower(): part
        for uuid, part in world.outsider.allocations(consumer).items()
        if uuid in names
    }


def update(*hosts):
    for host in hosts:
        host.tracker.reset()
        assert host.update()


class TestSharesWithinOneHost:
    """A resize that stays on its host takes the old and the new share there."""

    def test_the_tracker_keeps_both_in_placement_until_it_is_confirmed(self, new_world):
        world = new_world("tracker")
        host = world.hosts["a"]
        guest = built(world, host)
        seen = []
        for until in ("claimed", "switched", "resized"):
            if until == "claimed":
                resize(world, guest, host, until="claimed")
            else:
                getattr(world, {"switched": "switch", "resized": "finish"}[until])(guest)
            for _ in range(2):
                seen.append(held(world, guest.uuid, host)[""]["VCPU"])
                update(host)
        world.confirm(guest)
        assert seen == [SMALL.vcpus + LARGE.vcpus] * 6
        assert held(world, guest.uuid, host)[""]["VCPU"] == LARGE.vcpus

    def test_after_a_revert_only_the_old_one_is_left(self, new_world):
        world = new_world("tracker")
        host = world.hosts["a"]
        guest = built(world, host)
        resize(world, guest, host)
        update(host)
        world.revert(guest)
        reverted = held(world, guest.uuid, host)[""]["VCPU"]
        update(host)
        world.finish_revert(guest)
        update(host)
        assert (reverted, held(world, guest.uuid, host)[""]["VCPU"]) == (2, 2)
        assert host.node.vcpus_used == SMALL.vcpus

    def test_where_the_migration_has_the_old_one_the_tracker_writes_the_new(self, new_world):
        world = new_world("tracker")
        host = world.hosts["a"]
        guest = built(world, host)
        world.start_move(guest, host, "resize", LARGE)
        migration = world.migration(guest).uuid
        assert world.conductor.move_allocations(CONTEXT, guest.uuid, migration)
        assert world.claim_move(guest)
        update(host)
        assert held(world, migration, host)[""]["VCPU"] == SMALL.vcpus
        assert held(world, guest.uuid, host)[""]["VCPU"] == LARGE.vcpus

    def test_of_the_source_the_instance_has_nothing_that_the_migration_has(self, new_world):
        world = new_world("tracker")
        source, target = (world.hosts[name] for name in "ab")
        guest = built(world, source)
        world.start_move(guest, target, "resize", LARGE)
        migration = world.migration(guest).uuid
        assert world.conductor.move_allocations(CONTEXT, guest.uuid, migration)
        update(source)
        assert held(world, migration, source)[""]["VCPU"] == SMALL.vcpus
        assert held(world, guest.uuid, source) == {}

    def test_both_are_counted_after_it_is_finished(self, new_world):
        world = new_world("scheduler")
        host = world.hosts["a"]
        guest = built(world, host)
        resize(world, guest, host)
        update(host)
        assert host.node.vcpus_used == SMALL.vcpus + LARGE.vcpus

    @pytest.mark.parametrize("writer", WRITERS)
    def test_the_old_device_is_nobody_elses_until_it_is_confirmed(self, new_world, writer):
        world = new_world(writer)
        host = world.hosts["a"]
        guest = built(world, host, devices=WHOLE)
        resize(world, guest, host)
        update(host)
        third = built(world, host, devices=WHOLE)
        full = refused(world, host, devices=WHOLE)
        world.revert(guest)
        update(host)
        world.finish_revert(guest)
        world.check()
        assert full
        assert not set(devices_of(world, guest)) & set(devices_of(world, third))

    def test_so_is_the_old_numa_cell(self, new_world):
        world = new_world("scheduler")
        host = world.hosts["a"]
        whole_cell = {"vcpus": 1, "memory_mb": 8192}
        guest = built(world, host, cell=whole_cell)
        resize(world, guest, host)
        update(host)
        before = refused(world, host, cell=whole_cell)
        world.confirm(guest)
        assert (before, refused(world, host, cell=whole_cell)) == (True, False)


class TestDevicesInPlacement:
    """Each consumer is given the devices of its own share."""

    @pytest.fixture
    def world(self, new_world):
        return new_world("scheduler", report_in_placement=True)

    def test_the_migration_has_the_old_device_and_the_instance_the_new(self, world):
        host = world.hosts["a"]
        guest = built(world, host, devices=WHOLE)
        resize(world, guest, host, until="claimed")
        migration = world.migration(guest).uuid
        for go_on in (lambda: None, lambda: world.switch(guest), lambda: world.finish(guest)):
            go_on()
            update(host)
            old = devices_of(world, guest, "old_pci_devices")
            new = devices_of(world, guest, "new_pci_devices")
            assert set(held(world, migration, host)) == {"", *old}
            assert set(held(world, guest.uuid, host)) == {"", *new}
            world.check()

    def test_a_card_keeps_its_number_of_functions(self, world):
        host = world.hosts["a"]
        guest = built(world, host, devices=FUNCTION)
        resize(world, guest, host)
        update(host)
        card = next(uuid for uuid, name in world._tree(host).items() if name.endswith(CARD))
        assert world.outsider.totals(card) == {FUNCTION: 2}
        assert held(world, world.migration(guest).uuid, host)[CARD] == {FUNCTION: 1}
        assert held(world, guest.uuid, host)[CARD] == {FUNCTION: 1}

    def test_while_a_revert_is_under_way_no_device_is_counted_twice(self, world):
        host = world.hosts["a"]
        guest = built(world, host, devices=WHOLE)
        old = devices_of(world, guest)
        resize(world, guest, host)
        update(host)
        world.revert(guest)
        update(host)
        world.check()
        assert set(held(world, world.migration(guest).uuid, host)) == {"", *old}
        world.finish_revert(guest)
        update(host)
        assert set(held(world, guest.uuid, host)) == {"", *old}

    def test_without_a_migration_of_its_own_the_instance_has_both(self, new_world):
        world = new_world("tracker", report_in_placement=True)
        host = world.hosts["a"]
        guest = built(world, host, devices=WHOLE)
        resize(world, guest, host)
        update(host)
        both = {*devices_of(world, guest, "old_pci_devices"), *devices_of(world, guest)}
        assert held(world, guest.uuid, host).keys() - {""} == both
        world.confirm(guest)
        assert held(world, guest.uuid, host).keys() - {""} == set(devices_of(world, guest))


class TestSourcesThatAreLeft:
    def test_an_earlier_migration_that_failed_does_not_keep_anything_there(self, new_world):
        world = new_world("tracker")
        source, dest, _ = world.hosts.values()
        guest = built(world, source)
        failed = Migration(
            guest.uuid,
            migration_type="live-migration",
            status="error",
            source_compute=source.name,
            source_node=source.name,
        )
        world.cell.migrations.create(failed)
        migrate_live(world, guest, dest)
        update(source, dest)
        assert held(world, guest.uuid, source) == {}
        assert held(world, guest.uuid, dest)[""]["VCPU"] == SMALL.vcpus

    @pytest.mark.parametrize("kind", ["resize", "live-migration", "evacuation"])
    @pytest.mark.parametrize("writer", ["auto", "tracker"])
    def test_what_an_earlier_process_wrote_moves_with_its_instance(self, new_world, writer, kind):
        world = new_world(writer)
        source, dest, _ = world.hosts.values()
        guest = built(world, source)
        source.start()
        world.start_move(guest, dest, kind, LARGE if kind == "resize" else None)
        assert world.claim_move(guest)
        claimed = held(world, guest.uuid, source), held(world, guest.uuid, dest)
        dest.start()
        if kind == "resize":
            world.switch(guest)
            world.finish(guest)
            world.confirm(guest)
        else:
            world.complete(guest)
        update(source, dest)
        assert all(claimed)
        assert held(world, guest.uuid, source) == {}
        assert held(world, guest.uuid, dest)[""]["VCPU"] == guest.flavor.vcpus

    def test_what_the_scheduler_allocated_stays_the_schedulers(self, new_world):
        world = new_world("auto")
        source, dest, _ = world.hosts.values()
        guest = built(world, source, by_scheduler=True)
        source.start()
        resize(world, guest, dest)
        update(source, dest)
        assert held(world, world.migration(guest).uuid, source)[""]["VCPU"] == SMALL.vcpus
        world.revert(guest)
        update(dest, source)
        assert held(world, guest.uuid, dest)[""]["VCPU"] == LARGE.vcpus
        world.finish_revert(guest)
        update(dest, source)
        assert held(world, guest.uuid, dest) == {}
        assert held(world, guest.uuid, source)[""]["VCPU"] == SMALL.vcpus


class TestAborts:
    @pytest.mark.parametrize("restarted", [False, True])
    @pytest.mark.parametrize("writer", ["auto", "tracker"])
    def test_one_without_placement_is_made_up_for(self, new_world, writer, restarted):
        world = new_world(writer)
        host = world.hosts["a"]
        instance = Instance(project_id="project", user_id="user", flavor=SMALL)
        claim = host.tracker.instance_claim(CONTEXT, instance, host.name)
        host.reach(PLACEMENT_IS_AWAY)
        claim.abort()
        host.reach(None)
        before = held(world, instance.uuid, host)
        if restarted:
            host.start()
        update(host)
        assert before[""]["VCPU"] == SMALL.vcpus
        assert held(world, instance.uuid, host) == {}

    def test_one_of_a_move_without_placement_leaves_the_sources_part(self, new_world):
        world = new_world("auto")
        source, dest, _ = world.hosts.values()
        guest = built(world, source)
        world.start_move(guest, dest, "resize", LARGE)
        migration, instance = world.migration(guest), world.instance(guest)
        claim = dest.tracker.resize_claim(CONTEXT, instance, LARGE, dest.name, migration, None)
        dest.reach(PLACEMENT_IS_AWAY)
        claim.abort()
        dest.reach(None)
        update(dest, source)
        assert held(world, guest.uuid, dest) == {}
        assert held(world, guest.uuid, source)[""]["VCPU"] == SMALL.vcpus

    @pytest.mark.parametrize("how", ["abort", "drop", "refusal"])
    def test_one_of_a_resize_leaves_nothing_in_the_record(self, new_world, how):
        world = new_world("tracker")
        source, dest, _ = world.hosts.values()
        guest = built(world, source)
        world.start_move(guest, dest, "resize", LARGE)
        migration, instance = world.migration(guest), world.instance(guest)
        flavor = LARGE
        if how == "refusal":
            flavor = type(LARGE)(vcpus=1000, memory_mb=1)
            with pytest.raises(exceptions.ComputeResourcesUnavailable):
                dest.tracker.resize_claim(CONTEXT, instance, flavor, dest.name, migration, None)
        else:
            claim = dest.tracker.resize_claim(CONTEXT, instance, flavor, dest.name, migration, None)
            if how == "abort":
                claim.abort()
            else:
                dest.tracker.drop_move_claim(CONTEXT, world.instance(guest), dest.name)
        left = world.instance(guest)
        assert (left.old_flavor, left.new_flavor, left.migration_context) == (None, None, None)
        assert world.migration(guest).status == "error"
        update(dest)
        assert dest.node.vcpus_used == 0

    def test_a_later_live_migration_counts_what_the_instance_is(self, new_world):
        world = new_world("scheduler")
        source, dest, _ = world.hosts.values()
        guest = built(world, source)
        with world.changed(guest) as instance:
            instance.new_flavor = LARGE
        world.start_move(guest, dest, "live-migration")
        assert world.claim_move(guest)
        update(dest)
        assert dest.node.vcpus_used == SMALL.vcpus


class TestReverts:
    @pytest.mark.parametrize("updated", [False, True])
    @pytest.mark.parametrize("writer", WRITERS)
    def test_the_destination_is_free_whether_it_was_updated_meanwhile(
        self, new_world, writer, updated
    ):
        world = new_world(writer)
        source, dest, _ = world.hosts.values()
        guest = built(world, source, devices=WHOLE)
        resize(world, guest, dest)
        if updated:
            update(dest)
        world.revert(guest)
        used = [dest.node.vcpus_used]
        update(dest)
        used.append(dest.node.vcpus_used)
        assert used == [0, 0]
        if writer != "scheduler":
            assert held(world, guest.uuid, dest) == {}
        for _ in range(3):
            built(world, dest, devices=WHOLE)

    @pytest.mark.parametrize("writer", WRITERS)
    def test_the_source_keeps_its_share_until_it_has_the_instance_back(self, new_world, writer):
        world = new_world(writer)
        source, dest, _ = world.hosts.values()
        guest = built(world, source, devices=WHOLE)
        for _ in range(2):
            built(world, source, devices=WHOLE)
        resize(world, guest, dest)
        world.revert(guest)
        source.start()
        update(source)
        full = refused(world, source, devices=WHOLE)
        used = source.node.vcpus_used
        world.finish_revert(guest)
        update(source, dest)
        world.check()
        assert (full, used) == (True, 3 * SMALL.vcpus)
        assert source.node.vcpus_used == 3 * SMALL.vcpus
        assert held(world, guest.uuid, source)[""]["VCPU"] == SMALL.vcpus
