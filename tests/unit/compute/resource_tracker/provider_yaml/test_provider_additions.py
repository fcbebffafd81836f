"""What provider configuration files add, take out and leave alone (compute.md §4.8)."""

import pytest

from compute.provider_config import COMPUTE_NODE, SOURCE_FILE
from compute.provider_tree import ProviderTree
from compute.resource_tracker.provider_yaml.applied_configs import Added
from compute.resource_tracker.provider_yaml.provider_additions import ProviderAdditions

A, B, DRIVERS = "CUSTOM_A", "CUSTOM_B", "CUSTOM_DRIVERS"


def entry(traits=(), file="file.yaml", **inventories):
    return {
        SOURCE_FILE: file,
        "traits": {"additional": list(traits)},
        "inventories": {"additional": [{name: record} for name, record in inventories.items()]},
    }


def added(*traits, classes=()):
    return Added(frozenset(traits), frozenset(classes))


class Node:
    """A node with a child, as placement has both, and the files about them."""

    def __init__(self):
        tree = ProviderTree()
        tree.new_root("node", "u-node", 1)
        tree.new_child("child", "u-node", "u-child", 1)
        self.tree = tree.subtree("u-node")
        self.absent, self.present = [], []

    def merged(self, configs, applied=None, driver=lambda tree: None, held=()):
        """Return what an update of the node makes of the files; `driver` edits the tree."""
        additions = ProviderAdditions(configs, self.absent.append, self.present.append, applied)
        taken = additions.take_out(self.tree)
        driver(self.tree)
        return additions.merge(self.tree, taken, lambda uuid: held)

    def traits(self, uuid="u-node"):
        return self.tree.data(uuid).traits

    def inventory(self, uuid="u-node"):
        return self.tree.data(uuid).inventory


@pytest.fixture
def node():
    return Node()


def test_what_is_listed_first_is_added_and_noted_as_the_files(node):
    merged = node.merged({COMPUTE_NODE: entry([A], CUSTOM_B={"total": 2})}, applied={})

    assert (node.traits(), node.inventory()) == ({A}, {B: {"total": 2}})
    assert merged.after == {"u-node": added(A, classes=[B])}
    assert (merged.removed, merged.kept) == ({}, {})


def test_what_a_provider_had_when_a_file_first_listed_it_is_somebody_elses(node):
    node.tree.add_traits("u-node", A)

    merged = node.merged({COMPUTE_NODE: entry([A, B])}, applied={})

    assert merged.after == {"u-node": added(B)}
    assert node.traits() == {A, B}


def test_what_files_added_and_still_list_stays_theirs(node):
    node.tree.add_traits("u-node", A)

    merged = node.merged({COMPUTE_NODE: entry([A])}, applied={"u-node": added(A, B)})

    assert merged.after == {"u-node": added(A)}


def test_where_nothing_was_ever_noted_all_that_is_listed_counts_as_the_files(node):
    node.tree.add_traits("u-node", A)

    assert node.merged({COMPUTE_NODE: entry([A])}).after == {"u-node": added(A)}


def test_what_no_file_lists_any_more_is_removed(node):
    node.tree.add_traits("u-node", A, DRIVERS)
    node.tree.update_inventory("u-node", {B: {"total": 3}, "VCPU": {"total": 4}})
    before = {"u-node": added(A, classes=[B])}

    merged = node.merged({}, before)

    assert (node.traits(), node.inventory()) == ({DRIVERS}, {"VCPU": {"total": 4}})
    assert merged.removed == before
    assert merged.records == {"u-node": {B: {"total": 3}}}
    assert merged.after == {"u-node": added()}


def test_it_can_be_put_back(node):
    node.tree.add_traits("u-node", A)
    node.tree.update_inventory("u-node", {B: {"total": 3}})

    merged = node.merged({}, {"u-node": added(A, classes=[B])})
    merged.put_back(node.tree)

    assert (node.traits(), node.inventory()) == ({A}, {B: {"total": 3}})


def test_what_the_driver_brings_back_is_not_removed(node):
    node.tree.add_traits("u-node", A)

    merged = node.merged({}, {"u-node": added(A)}, driver=lambda tree: tree.add_traits("u-node", A))

    assert (node.traits(), merged.removed) == ({A}, {})


def test_a_class_that_is_held_stays_and_remains_the_files(node):
    node.tree.update_inventory("u-node", {A: {"total": 3}, B: {"total": 3}})

    merged = node.merged({}, {"u-node": added(classes=[A, B])}, held=[A, "VCPU"])

    assert node.inventory() == {A: {"total": 3}}
    assert merged.kept == {"u-node": added(classes=[A])}
    assert merged.after == {"u-node": added(classes=[A])}
    assert merged.removed == {"u-node": added(classes=[B])}


def test_a_trait_has_no_holders(node):
    node.tree.add_traits("u-node", A)

    merged = node.merged({}, {"u-node": added(A)}, held=[A])

    assert merged.removed == {"u-node": added(A)}


def test_a_field_that_an_entry_leaves_out_stays_as_placement_has_it(node):
    node.tree.update_inventory("u-node", {A: {"total": 3, "reserved": 1}})

    node.merged({COMPUTE_NODE: entry(CUSTOM_A={"total": 5})}, {"u-node": added(classes=[A])})

    assert node.inventory() == {A: {"total": 5, "reserved": 1}}


def test_a_class_of_the_driver_is_not_the_files_to_add(node):
    with pytest.raises(ValueError, match=f"file.yaml: {A} of provider u-node is owned by the virt"):
        node.merged(
            {COMPUTE_NODE: entry(CUSTOM_A={"total": 5})},
            driver=lambda tree: tree.update_inventory("u-node", {A: {"total": 1}}),
        )


def test_entries_are_about_the_provider_they_name_and_else_about_the_node(node):
    node.merged(
        {"child": entry([A]), COMPUTE_NODE: entry([B]), "elsewhere": entry([DRIVERS])}, applied={}
    )

    assert (node.traits("u-child"), node.traits()) == ({A}, {B})
    assert (node.present, node.absent) == (["child"], ["elsewhere"])


def test_an_entry_of_the_node_itself_comes_before_that_of_all_nodes(node):
    node.merged({"u-node": entry([A]), COMPUTE_NODE: entry([B])}, applied={})

    assert node.traits() == {A}


def test_two_entries_for_one_provider_are_refused(node):
    with pytest.raises(ValueError, match=r"in one\.yaml and two\.yaml"):
        node.merged({"child": entry(file="one.yaml"), "u-child": entry(file="two.yaml")})


def test_a_provider_that_the_driver_removed_is_no_matter(node):
    merged = node.merged(
        {"child": entry([A])},
        {"u-child": added(A)},
        driver=lambda tree: tree.remove("u-child"),
    )

    assert merged.after == {"u-child": added(A)}
    assert merged.removed == {}
