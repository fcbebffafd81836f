"""What an instance holds of a node, from its records alone (compute.md §4.9)."""

import pytest

from compute.consumers.held_shares import (
    InstanceHolding,
    Share,
    Side,
    device_holders,
    holding,
    relevant,
)
from compute.records.instance import Flavor, Instance, MigrationContext
from compute.records.migration import Migration

OLD, NEW = Flavor(vcpus=2), Flavor(vcpus=4)
SOURCE, DEST = ("source", "source"), ("dest", "dest")


def device(address):
    return {"address": address}


def moving(at="source", to="dest", kind="resize", status="migrating", id=1, **fields):
    """Return an instance and its migration, and give the instance the migration's context."""
    defaults = {
        "task_state": "migrating" if kind == "live-migration" else "resize_migrating",
        "flavor": OLD,
        "old_flavor": OLD,
        "new_flavor": NEW,
        "pci_devices": [device("old")],
        "migration_context": MigrationContext(
            id, old_pci_devices=[device("old")], new_pci_devices=[device("new")]
        ),
    }
    instance = Instance(host=at, node=at, **{**defaults, **fields})
    migration = Migration(
        instance.uuid,
        id=id,
        migration_type=kind,
        status=status,
        source_compute="source",
        source_node="source",
        dest_compute=to,
        dest_node=to,
    )
    return instance, migration


def shares(instance, migration, where):
    return [
        (share.side, share.flavor.vcpus, share.addresses)
        for share in holding(instance, migration, *where).shares
    ]


@pytest.mark.parametrize("at", ["source", "dest"])
def test_an_instance_on_its_way_holds_the_old_share_and_the_new_wherever_it_is(at):
    instance, migration = moving(at)
    assert shares(instance, migration, SOURCE) == [(Side.OLD, 2, {"old"})]
    assert shares(instance, migration, DEST) == [(Side.NEW, 4, {"new"})]
    assert shares(instance, migration, ("third", "third")) == []


@pytest.mark.parametrize("finished", [False, True])
def test_within_one_node_it_holds_both(finished):
    instance, migration = moving(to="source", status="finished" if finished else "migrating")
    if finished:
        instance.flavor, instance.vm_state, instance.task_state = NEW, "resized", None
        instance.apply_migration_context()
    assert shares(instance, migration, SOURCE) == [
        (Side.OLD, 2, {"old"}),
        (Side.NEW, 4, {"new"}),
    ]


@pytest.mark.parametrize("status", ["error", "failed", "confirmed", "completed", "cancelled"])
def test_a_migration_that_is_over_holds_nothing(status):
    instance, migration = moving("source", status=status)
    assert shares(instance, migration, SOURCE) == [(Side.OWN, 2, {"old"})]
    assert shares(instance, migration, DEST) == []


def test_an_instance_that_arrived_has_what_it_was_given_there():
    instance, migration = moving("dest", status="completed", kind="live-migration", task_state=None)
    assert shares(instance, migration, DEST) == [(Side.OWN, 2, {"new"})]
    assert shares(instance, migration, SOURCE) == []


@pytest.mark.parametrize("kind", ["live-migration", "evacuation"])
def test_only_a_resize_changes_the_flavor(kind):
    task = "migrating" if kind == "live-migration" else "rebuilding"
    instance, migration = moving(kind=kind, task_state=task)
    assert shares(instance, migration, DEST) == [(Side.NEW, 2, {"new"})]


@pytest.mark.parametrize("to", ["source", "dest"])
def test_while_a_revert_is_under_way_only_the_source_holds(to):
    instance, migration = moving(to, to, status="reverted", vm_state="resized", flavor=NEW)
    instance.migration_context = None
    assert shares(instance, migration, SOURCE) == [(Side.OLD, 2, {"old"})]
    if to == "dest":
        assert shares(instance, migration, DEST) == []


def test_a_revert_of_long_ago_does_not_speak_for_a_later_move():
    instance, reverted = moving("dest", status="reverted", id=1, vm_state="resized")
    _, later = moving(status="finished", id=2)
    later.instance_uuid = instance.uuid
    later.source_node = later.source_compute = "third"
    chosen = relevant(instance, [reverted, later])
    assert chosen is later
    assert shares(instance, chosen, SOURCE) == []


def test_an_older_context_says_nothing_of_a_migration_that_is_not_claimed_yet():
    instance, migration = moving(id=2)
    instance.migration_context = MigrationContext(1, new_pci_devices=[device("stale")])
    assert shares(instance, migration, SOURCE) == [(Side.OLD, 2, {"old"})]
    assert shares(instance, migration, DEST) == [(Side.NEW, 4, set())]


def test_a_migration_that_does_not_say_from_where_leaves_the_instances_share_where_it_is():
    instance, migration = moving()
    migration.source_compute = migration.source_node = None
    migration.dest_compute = migration.dest_node = None
    assert shares(instance, migration, SOURCE) == [(Side.OWN, 2, {"old"})]


def test_a_deleted_instance_holds_nothing():
    instance, migration = moving(vm_state="deleted")
    assert shares(instance, migration, SOURCE) == shares(instance, migration, DEST) == []


class TestGivingUpASide:
    BOTH = (Share(Side.OLD, OLD), Share(Side.NEW, NEW))

    @pytest.mark.parametrize(("gone", "left"), [(Side.OLD, NEW), (Side.NEW, OLD)])
    def test_the_other_is_the_instances_own_then(self, gone, left):
        kept = InstanceHolding(Instance(), self.BOTH).without(gone)
        assert kept.shares == (Share(Side.OWN, left),)

    def test_what_came_with_a_move_goes_with_it(self):
        _, migration = moving()
        own = InstanceHolding(Instance(), (Share(Side.OWN, NEW),))
        assert own.without(Side.NEW, migration).shares == ()
        assert own.without(Side.NEW).shares == own.shares


class TestDeviceHolders:
    def holders(self, instance, migration, present, where=SOURCE):
        held = {instance.uuid: holding(instance, migration, *where)}
        names = {instance.uuid: "instance", migration.uuid: "migration"}
        present = [uuid for uuid, name in names.items() if name in present]
        migrations = [migration] if migration.uuid in present else []
        found = device_holders(held, migrations, present)
        return {names[consumer]: addresses for consumer, addresses in found.items()}

    def test_the_migration_has_the_old_and_the_instance_the_new(self):
        both = self.holders(*moving(to="source"), ("instance", "migration"))
        assert both == {"migration": {"old"}, "instance": {"new"}}

    def test_without_a_migration_the_instance_has_both(self):
        assert self.holders(*moving(to="source"), ("instance",)) == {"instance": {"old", "new"}}

    def test_a_failed_one_stands_in_until_it_is_moved_back(self):
        failed = self.holders(*moving(status="error"), ("instance", "migration"))
        assert failed == {"migration": {"old"}, "instance": set()}

    def test_a_confirmed_one_keeps_none(self):
        confirmed = moving("dest", status="confirmed")
        assert self.holders(*confirmed, ("migration",)) == {"migration": set()}

    def test_a_claim_that_is_yet_to_come_takes_nothing_away(self):
        instance, migration = moving(to="source")
        migration.dest_compute = migration.dest_node = None
        holders = self.holders(instance, migration, ("instance", "migration"))
        assert holders == {"migration": {"old"}}
