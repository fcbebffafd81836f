"""What a flavor takes of a node (compute.md §4.9)."""

from compute.consumers.instance_resources import usage_of
from tests.unit.compute.resource_tracker.equipped_host import LARGE


class TestAmounts:
    def test_disks_are_added_up_and_swap_is_rounded_to_whole_gib(self):
        assert usage_of(LARGE, booted_from_volume=False).disk_gb == 27
        assert usage_of(LARGE, booted_from_volume=True).disk_gb == 7
