"""Contexts of encrypted memory leave the root, whatever a driver reports afterwards."""

from compute.provider_tree import ProviderTree
from tests.unit.virt.conftest import ROOT_UUID as ROOT
from tests.unit.virt.consumers import body, resources, uuid
from virt.inventory import record
from virt.reshape.memory_encryption import MEM_ENCRYPTION_CONTEXT, update_memory_encryption


def test_a_class_of_the_operator_s_on_the_child_is_in_nobody_s_way():
    tree = ProviderTree()
    tree.new_root("host1", ROOT, generation=1)
    tree.update_inventory(ROOT, {"VCPU": record(4), MEM_ENCRYPTION_CONTEXT: record(2)})
    child = tree.new_child("host1_amd_sev", "host1")
    allocations = {uuid(1): body({ROOT: {MEM_ENCRYPTION_CONTEXT: 1}, child: {"CUSTOM_THING": 1}})}

    update_memory_encryption(tree, "host1", {"amd_sev": 2}, allocations)

    assert tree.data(ROOT).inventory == {"VCPU": record(4)}
    held = {"CUSTOM_THING": 1, MEM_ENCRYPTION_CONTEXT: 1}
    assert resources(allocations) == {uuid(1): {child: held}}
