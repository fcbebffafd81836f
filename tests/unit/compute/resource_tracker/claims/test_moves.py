"""Claims of moves, without a placement (compute.md §4.11)."""

import pytest

from compute import exceptions
from compute.records.migration import Migration
from tests.unit.compute.resource_tracker.equipped_host import (
    CONTEXT,
    HERE,
    HOST,
    LARGE,
    NOTHING_USED,
    THERE,
    TINY,
    update,
    used,
)


class TestMoveClaims:
    @pytest.mark.parametrize("adopted", [True, False])
    def test_a_resize_claim_takes_the_new_size_and_leads_the_migration_here(
        self, tracker, make, cell, adopted
    ):
        instance = make(**THERE)
        migration = Migration(instance.uuid, migration_type="resize") if adopted else None
        claim = tracker.resize_claim(CONTEXT, instance, LARGE, HOST, migration, None)
        known = cell.migrations.by_uuid(claim.migration.uuid)
        assert used(tracker)[0] == LARGE.vcpus
        assert (known.dest_compute, known.dest_node, known.status) == (HOST, HOST, "pre-migrating")
        assert cell.instances.by_uuid(instance.uuid).migration_context.migration_id == known.id
        assert (instance.host, instance.new_flavor) == ("other", LARGE)

    def test_within_a_node_both_sizes_are_claimed_whoever_made_the_migration(self, tracker, make):
        instance = make(**HERE)
        update(tracker)
        migration = Migration(instance.uuid, migration_type="resize")
        claim = tracker.resize_claim(CONTEXT, instance, LARGE, HOST, migration, None)
        both = used(tracker)[0]
        claim.abort()
        assert (both, used(tracker)[0]) == (TINY.vcpus + LARGE.vcpus, TINY.vcpus)

    def test_aborting_it_gives_everything_back(self, tracker, make):
        instance = make(**THERE)
        tracker.resize_claim(CONTEXT, instance, LARGE, HOST, None, None).abort()
        assert used(tracker) == NOTHING_USED
        assert (instance.migration_context, tracker.tracked_migrations) == (None, {})

    def test_a_live_migration_keeps_its_status(self, tracker, make):
        instance = make(**THERE, task_state="migrating")
        migration = Migration(instance.uuid, migration_type="live-migration", status="running")
        claim = tracker.live_migration_claim(CONTEXT, instance, HOST, migration, None, None)
        assert (claim.migration.status, used(tracker)[0]) == ("running", TINY.vcpus)

    def test_a_rebuild_claim_makes_an_evacuation(self, tracker, make):
        instance = make(**THERE, task_state="rebuilding")
        claim = tracker.rebuild_claim(CONTEXT, instance, HOST, None)
        assert claim.migration.migration_type == "evacuation"
        assert used(tracker)[0] == TINY.vcpus

    def test_confirming_frees_the_source(self, tracker, make, cell):
        instance = make(**HERE)
        update(tracker)
        migration = Migration(instance.uuid, source_compute=HOST, source_node=HOST)
        cell.migrations.create(migration)
        tracker.drop_move_claim_at_source(CONTEXT, instance, migration)
        assert used(tracker) == NOTHING_USED
        assert cell.migrations.by_uuid(migration.uuid).status == "confirmed"

    def test_reverting_frees_the_destination(self, tracker, make, cell):
        instance = make(**THERE)
        claim = tracker.resize_claim(CONTEXT, instance, LARGE, HOST, None, None)
        tracker.drop_move_claim_at_dest(CONTEXT, instance, claim.migration)
        assert used(tracker) == NOTHING_USED
        assert cell.migrations.by_uuid(claim.migration.uuid).status == "reverted"

    def test_a_failed_update_gives_back_the_claim_and_ends_the_migration(self, tracker, make, cell):
        instance = make(**THERE)
        tracker.reportclient.failures = [exceptions.ResourceProviderSyncFailed()]
        migration = Migration(instance.uuid, migration_type="resize")
        with pytest.raises(exceptions.ResourceProviderSyncFailed):
            tracker.resize_claim(CONTEXT, instance, LARGE, HOST, migration, None)
        assert used(tracker) == NOTHING_USED
        assert cell.migrations.by_uuid(migration.uuid).status == "error"


class TestEvacuation:
    def test_a_finished_one_makes_the_instance_one_of_the_node(self, tracker, make, cell):
        topology = {"cells": [{"vcpus": 1, "memory_mb": 512}]}
        instance = make(**THERE, task_state="rebuilding", numa_topology=topology)
        claim = tracker.rebuild_claim(CONTEXT, instance, HOST, None)
        sent = list(tracker.reportclient.calls)
        tracker.finish_evacuation(instance, HOST, claim.migration)
        known = cell.instances.by_uuid(instance.uuid)
        assert (known.host, known.node, known.compute_id) == (HOST, HOST, 1)
        assert known.numa_topology["cells"][0]["id"] == 0
        assert known.migration_context is None
        assert cell.migrations.by_uuid(claim.migration.uuid).status == "done"
        assert used(tracker)[0] == TINY.vcpus
        assert tracker.reportclient.calls == sent
        assert (tracker.tracked_instances, tracker.tracked_migrations) == ({instance.uuid}, {})

    def test_the_next_update_counts_the_same(self, tracker, make):
        instance = make(**THERE, task_state="rebuilding")
        claim = tracker.rebuild_claim(CONTEXT, instance, HOST, None)
        tracker.finish_evacuation(instance, HOST, claim.migration)
        before = used(tracker)
        update(tracker)
        assert used(tracker) == before

    def test_a_node_that_is_not_tracked_is_not_found(self, tracker, make):
        with pytest.raises(exceptions.ComputeHostNotFound):
            tracker.finish_evacuation(make(**THERE), "unknown", None)
