"""What the records say of moves is counted (compute.md §4.9)."""

import pytest

from compute.records.instance import MigrationContext
from tests.unit.compute.resource_tracker.equipped_host import (
    HERE,
    HOST,
    LARGE,
    NOTHING_USED,
    THERE,
    TINY,
    update,
    used,
)

RESIZING = {"task_state": "resize_migrating", "old_flavor": TINY, "new_flavor": LARGE}


class TestMigrations:
    def test_what_comes_is_counted_as_it_will_be(self, tracker, make, move):
        instance = make(**THERE, **RESIZING)
        migration = move(instance)
        update(tracker)
        assert used(tracker)[0] == LARGE.vcpus
        assert tracker.tracked_migrations == {instance.uuid: migration}

    def test_what_went_is_counted_as_it_was(self, tracker, make, move):
        move(make(**THERE, **RESIZING), source=HOST, dest="other")
        update(tracker)
        assert used(tracker)[0] == TINY.vcpus

    def test_what_is_tracked_is_not_counted_twice(self, tracker, make, move):
        move(make(**HERE, **RESIZING), source=HOST, dest="other")
        update(tracker)
        assert used(tracker)[0] == TINY.vcpus

    @pytest.mark.parametrize("flavor", [TINY, LARGE])
    def test_within_a_node_both_sizes_are_counted(self, tracker, make, move, flavor):
        move(make(**HERE, **RESIZING, flavor=flavor), source=HOST)
        update(tracker)
        assert used(tracker)[0] == TINY.vcpus + LARGE.vcpus

    def test_one_of_an_instance_that_does_not_move_is_not(self, tracker, make, move):
        move(make(**THERE, task_state=None, vm_state="active", new_flavor=LARGE))
        update(tracker)
        assert used(tracker) == NOTHING_USED

    def test_a_live_migration_is_counted_while_it_runs(self, tracker, make, move):
        move(make(**THERE, task_state="migrating"), migration_type="live-migration")
        update(tracker)
        assert used(tracker)[0] == TINY.vcpus

    def test_only_the_newest_of_an_instance_counts(self, tracker, make, move):
        instance = make(**THERE, **RESIZING)
        move(instance)
        newest = move(instance)
        update(tracker)
        assert tracker.tracked_migrations == {instance.uuid: newest}
        assert used(tracker)[0] == LARGE.vcpus

    def test_one_that_its_instance_forgot_is_an_error(self, tracker, make, move, cell):
        context = MigrationContext(migration_id=99)
        migration = move(make(**THERE, **RESIZING, migration_context=context))
        update(tracker)
        assert cell.migrations.by_uuid(migration.uuid).status == "error"
        assert used(tracker) == NOTHING_USED

    def test_an_instance_that_arrives_is_shown_as_it_will_be(self, tracker, make, move, cell):
        topology = {"cells": [{"id": 1, "vcpus": 1, "memory_mb": 512}]}
        instance = make(**HERE, **RESIZING)
        migration = move(instance)
        instance.migration_context = MigrationContext(migration.id, new_numa_topology=topology)
        cell.instances.save(instance)
        update(tracker)
        assert tracker._nodes.get(HOST).instances[instance.uuid].numa_topology == topology
        assert cell.instances.by_uuid(instance.uuid).numa_topology is None
