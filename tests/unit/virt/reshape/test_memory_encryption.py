"""Contexts of encrypted memory leave the root, whatever a driver reports afterwards."""

from compute.provider_tree import ProviderTree
from virt.inventory import record
from virt.reshape.memory_encryption import MEM_ENCRYPTION_CONTEXT, update_memory_encryption


def test_the_root_has_none_by_then():
    tree = ProviderTree()
    root = tree.new_root("host1", generation=1)
    tree.update_inventory(root, {"VCPU": record(4), MEM_ENCRYPTION_CONTEXT: record(2)})

    update_memory_encryption(tree, "host1", {"amd_sev": 2}, {})

    assert tree.data(root).inventory == {"VCPU": record(4)}
    assert tree.data("host1_amd_sev").inventory.keys() == {MEM_ENCRYPTION_CONTEXT}
