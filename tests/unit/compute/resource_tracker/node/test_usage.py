"""What instances use is counted in the node's record (compute.md §4.9)."""

import pytest

from compute.records.instance import Flavor
from tests.unit.compute.resource_tracker.equipped_host import HERE, HOST, LARGE, THERE, update, used


class TestInstances:
    def test_instances_of_the_node_are_counted(self, tracker, make):
        make(**HERE)
        make(**HERE, flavor=LARGE, booted_from_volume=True)
        make(**THERE)
        update(tracker)
        node = tracker.compute_nodes[HOST]
        assert used(tracker) == (5, 512 + 512 + 2048, 1 + 7)
        assert (node.free_ram_mb, node.free_disk_gb) == (8192 - 3072, 1028 - 8)
        assert node.stats["num_instances"] == 2

    def test_free_amounts_may_be_negative(self, tracker, make):
        make(**HERE, flavor=Flavor(memory_mb=10000, root_gb=2000))
        update(tracker)
        node = tracker.compute_nodes[HOST]
        assert (node.free_ram_mb, node.free_disk_gb) == (-2320, -972)

    @pytest.mark.parametrize(
        ("vm_state", "task_state", "counted"),
        [
            ("deleted", None, 0),
            ("shelved_offloaded", None, 0),
            ("shelved_offloaded", "spawning", 1),
        ],
    )
    def test_those_that_hold_nothing_are_not(self, tracker, make, vm_state, task_state, counted):
        make(**HERE, vm_state=vm_state, task_state=task_state)
        update(tracker)
        assert len(tracker.tracked_instances) == counted

    def test_they_are_linked_to_the_nodes_record(self, tracker, make, cell):
        instance = make(**HERE)
        update(tracker)
        assert cell.instances.by_uuid(instance.uuid).compute_id == tracker.compute_nodes[HOST].id

    def test_an_unchanged_database_is_not_asked_again(self, tracker, make, cell, monkeypatch):
        make(**HERE)
        update(tracker)
        update(tracker)
        monkeypatch.setattr(cell.instances, "by_host_and_node", lambda *wanted: 1 / 0)
        update(tracker)
        assert used(tracker) == (1, 1024, 1)

    def test_those_that_boot_from_a_volume_are_told_apart(self, tracker, make):
        on_volume, on_disk = make(**HERE, booted_from_volume=True), make(**HERE)
        update(tracker)
        assert tracker.is_bfv == {on_volume.uuid: True, on_disk.uuid: False}
