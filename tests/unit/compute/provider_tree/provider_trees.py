"""Provider trees to test with."""

from compute.provider_tree import ProviderTree

VCPU = {
    "total": 8,
    "reserved": 0,
    "min_unit": 1,
    "max_unit": 8,
    "step_size": 1,
    "allocation_ratio": 16.0,
}


def example():
    """Make the example of compute.md §2.8: cn with numa0 (pf0 below it) and numa1, and ssp."""
    tree = ProviderTree()
    tree.new_root("cn", "cn-uuid", 3)
    tree.new_child("numa0", "cn", "numa0-uuid")
    tree.new_child("pf0", "numa0", "pf0-uuid")
    tree.new_child("numa1", "cn-uuid", "numa1-uuid")
    tree.new_root("ssp", "ssp-uuid", 0)
    return tree
