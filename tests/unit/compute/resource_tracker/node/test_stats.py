"""Counts of what instances are and do (compute.md §4.9)."""

import pytest

from compute.records.instance import Instance
from compute.resource_tracker.node.stats import Stats
from tests.unit.compute.resource_tracker.equipped_host import HOST


class TestStats:
    def test_each_instance_is_counted_by_what_it_is_and_does(self):
        stats = Stats()
        stats.update_for_instance(
            Instance(vm_state="building", task_state="rebuilding", os_type="Linux", project_id="p")
        )
        assert stats == {
            "num_instances": 1,
            "num_vm_building": 1,
            "num_task_rebuilding": 1,
            "num_os_type_Linux": 1,
            "num_proj_p": 1,
            "io_workload": 2,
        }

    def test_a_change_is_counted_anew_and_a_removal_leaves_nothing(self):
        stats, instance = Stats(), Instance(vm_state="building")
        stats.update_for_instance(instance)
        instance.vm_state = "active"
        stats.update_for_instance(instance)
        assert "io_workload" not in stats
        stats.update_for_instance(instance, is_removed=True)
        assert stats == {}

    def test_failed_builds_outlive_a_new_count_and_end_with_a_success(self):
        stats = Stats()
        stats.build_failed()
        stats.build_failed()
        stats.start_over()
        failed = stats["failed_builds"]
        stats.build_succeeded()
        assert (failed, stats["failed_builds"]) == (2, 0)

    def test_the_drivers_are_taken_in(self, tracker):
        assert tracker.compute_nodes[HOST].stats == {"temperature": 40, "uptime": None}

    def test_the_drivers_must_be_a_dict(self):
        with pytest.raises(ValueError, match="not a dict"):
            Stats().digest("fine")
