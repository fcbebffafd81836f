"""What a flavor takes of a node (compute.md §4.9)."""

from compute.consumers.instance_resources import resources_from_flavor, usage_of
from compute.records.instance import Flavor
from tests.unit.compute.resource_tracker.equipped_host import LARGE


class TestAmounts:
    def test_disks_are_added_up_and_swap_is_rounded_to_whole_gib(self):
        assert usage_of(LARGE, booted_from_volume=False).disk_gb == 27
        assert usage_of(LARGE, booted_from_volume=True).disk_gb == 7

    def test_extra_specs_add_and_win_and_nothing_is_left_out(self):
        flavor = Flavor(
            vcpus=1,
            memory_mb=512,
            extra_specs={"resources:VCPU": "0", "resources:CUSTOM_GOLD": "1", "hw:cpu": "x"},
        )
        assert resources_from_flavor(flavor) == {"MEMORY_MB": 512, "CUSTOM_GOLD": 1}
