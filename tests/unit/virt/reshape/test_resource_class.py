import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute import exceptions
from compute.provider_tree import ProviderTree
from tests.unit.virt.consumers import body, resources, totals, uuid
from virt.inventory import record
from virt.ownership import Ownership, suffix_like
from virt.reshape.resource_class import rename_classes

ROOT, CHILD, ELSEWHERE = uuid(1000), uuid(1001), uuid(2000)
OURS = Ownership("host1", suffix_like("child"))
RENAMED = {"CUSTOM_FPGA": "FPGA"}


def tree_with(root, child=None):
    tree = ProviderTree()
    tree.new_root("host1", ROOT)
    tree.new_child("host1_child", ROOT, CHILD)
    tree.update_inventory(ROOT, root)
    tree.update_inventory(CHILD, child or {})
    return tree


def test_a_provider_with_an_old_class_needs_a_reshape_and_is_left_as_it_was():
    tree = tree_with({"CUSTOM_FPGA": record(4)})

    with pytest.raises(exceptions.ReshapeNeeded):
        rename_classes(tree, "host1", RENAMED)

    assert tree.data(ROOT).inventory == {"CUSTOM_FPGA": record(4)}


def test_without_an_old_class_nothing_happens():
    tree = tree_with({"FPGA": record(4)})

    rename_classes(tree, "host1", RENAMED)

    assert tree.data(ROOT).inventory == {"FPGA": record(4)}


def test_inventory_and_allocations_get_the_new_name_on_every_provider_of_the_driver():
    tree = tree_with({"VCPU": record(8), "CUSTOM_FPGA": record(4)}, {"CUSTOM_FPGA": record(2)})
    allocations = {
        uuid(1): body({ROOT: {"VCPU": 1, "CUSTOM_FPGA": 2}, CHILD: {"CUSTOM_FPGA": 1}}),
        uuid(2): body({ROOT: {"VCPU": 1}}),
    }

    rename_classes(tree, "host1", RENAMED, allocations, OURS)

    assert tree.data(ROOT).inventory == {"VCPU": record(8), "FPGA": record(4)}
    assert tree.data(CHILD).inventory == {"FPGA": record(2)}
    assert resources(allocations) == {
        uuid(1): {ROOT: {"VCPU": 1, "FPGA": 2}, CHILD: {"FPGA": 1}},
        uuid(2): {ROOT: {"VCPU": 1}},
    }


@pytest.mark.parametrize(
    ("is_ours", "traits"), [(None, []), (OURS, ["OWNER_CYBORG"]), (Ownership("host1"), [])]
)
@pytest.mark.parametrize("root", [{"CUSTOM_FPGA": record(4)}, {"VCPU": record(8)}])
def test_the_providers_of_others_below_the_root_keep_their_classes(is_ours, traits, root):
    tree = tree_with(root, {"CUSTOM_FPGA": record(2)})
    tree.add_traits(CHILD, *traits)
    held = {uuid(1): body({CHILD: {"CUSTOM_FPGA": 1}})}

    if "CUSTOM_FPGA" not in root:
        rename_classes(tree, "host1", RENAMED, None, is_ours)
    rename_classes(tree, "host1", RENAMED, held, is_ours)

    assert tree.data(CHILD).inventory == {"CUSTOM_FPGA": record(2)}
    assert resources(held) == {uuid(1): {CHILD: {"CUSTOM_FPGA": 1}}}


def test_it_works_the_other_way_as_well():
    tree = tree_with({"FPGA": record(4)})
    allocations = {uuid(1): body({ROOT: {"FPGA": 2}})}

    rename_classes(tree, "host1", {"FPGA": "CUSTOM_FPGA"}, allocations)

    assert tree.data(ROOT).inventory == {"CUSTOM_FPGA": record(4)}
    assert resources(allocations) == {uuid(1): {ROOT: {"CUSTOM_FPGA": 2}}}


def test_where_both_classes_are_totals_and_amounts_add_up():
    tree = tree_with({"CUSTOM_FPGA": record(4), "FPGA": record(3)})
    allocations = {uuid(1): body({ROOT: {"CUSTOM_FPGA": 2, "FPGA": 3}})}

    rename_classes(tree, "host1", RENAMED, allocations)

    assert tree.data(ROOT).inventory == {"FPGA": record(7)}
    assert resources(allocations) == {uuid(1): {ROOT: {"FPGA": 5}}}


def test_a_max_unit_below_the_total_stays():
    tree = tree_with({"CUSTOM_FPGA": record(4), "FPGA": record(3) | {"max_unit": 1}})

    rename_classes(tree, "host1", RENAMED, {})

    assert tree.data(ROOT).inventory["FPGA"] == record(7) | {"max_unit": 1}


def test_other_hosts_records_keep_the_old_name():
    tree = tree_with({"CUSTOM_FPGA": record(4)})
    allocations = {uuid(1): body({ELSEWHERE: {"CUSTOM_FPGA": 2}})}

    rename_classes(tree, "host1", RENAMED, allocations)

    assert resources(allocations) == {uuid(1): {ELSEWHERE: {"CUSTOM_FPGA": 2}}}


def test_project_user_and_generations_stay():
    tree = tree_with({"CUSTOM_FPGA": record(4)})
    allocations = {uuid(1): body({ROOT: {"CUSTOM_FPGA": 2}}, generation=9)}

    rename_classes(tree, "host1", RENAMED, allocations)

    assert allocations == {uuid(1): body({ROOT: {"FPGA": 2}}, generation=9)}


@pytest.mark.parametrize(
    "renamed",
    [
        {"CUSTOM_A": "CUSTOM_B", "CUSTOM_B": "CUSTOM_A"},
        {"CUSTOM_A": "CUSTOM_B", "CUSTOM_B": "FPGA"},
        {"FPGA": "FPGA"},
    ],
)
def test_renames_in_a_circle_or_a_chain_are_refused(renamed):
    with pytest.raises(ValueError, match="circle or a chain"):
        rename_classes(tree_with({}), "host1", renamed)


CLASSES = st.dictionaries(
    st.sampled_from(["VCPU", "CUSTOM_A", "CUSTOM_B", "FPGA"]), st.integers(1, 9), min_size=1
)


@given(CLASSES, st.lists(CLASSES, max_size=5))
def test_renaming_keeps_all_totals_and_a_second_call_changes_nothing(inventory, guests):
    renamed = {"CUSTOM_A": "FPGA", "CUSTOM_B": "FPGA"}
    tree = tree_with({name: record(total) for name, total in inventory.items()})
    allocations = {uuid(n): body({ROOT: held}) for n, held in enumerate(guests)}

    rename_classes(tree, "host1", renamed, allocations)
    after = copy.deepcopy(allocations), tree.data(ROOT).inventory
    rename_classes(tree, "host1", renamed, allocations)
    rename_classes(tree, "host1", renamed)

    def as_new(amounts):
        result = {}
        for name, amount in amounts.items():
            new = renamed.get(name, name)
            result[new] = result.get(new, 0) + amount
        return result

    assert (allocations, tree.data(ROOT).inventory) == after
    assert totals(allocations) == {uuid(n): as_new(held) for n, held in enumerate(guests)}
    assert {name: one["total"] for name, one in after[1].items()} == as_new(inventory)
