"""Populating a ProviderTree from what placement lists (compute.md §2)."""

import pytest

from compute.provider_tree import ProviderData, ProviderTree
from tests.unit.compute.provider_tree.provider_trees import VCPU, example


@pytest.fixture
def tree():
    return example()


def row(uuid, parent=None, generation=1, name=None):
    """Return a provider as GET /resource_providers lists it."""
    return {
        "uuid": uuid,
        "name": name or f"{uuid}-name",
        "generation": generation,
        "parent_provider_uuid": parent,
        "root_provider_uuid": "ignored",
        "links": [],
    }


def test_t11_populate_takes_providers_in_any_order_and_from_a_generator():
    tree = ProviderTree()
    tree.populate_from_iterable(
        iter([row("gc", "c2", 7), row("c2", "r"), row("c1", "r"), row("r", None, 5)])
    )
    assert tree.get_provider_uuids() == ["r", "c2", "gc", "c1"]
    assert tree.data("gc") == ProviderData("gc", "gc-name", 7, "c2", {}, set(), set(), {})


def test_the_rows_to_populate_with_may_come_from_the_tree_itself(tree):
    shape = tree.get_provider_uuids()
    tree.populate_from_iterable(
        row(uuid, tree.data(uuid).parent_uuid, name=tree.data(uuid).name) for uuid in shape
    )
    assert tree.get_provider_uuids() == shape


HAD = {"inventories": {"VCPU": VCPU}, "aggregates": ["agg"], "traits": ["CUSTOM_T"]}


def test_only_who_populates_whole_keeps_what_the_rows_have_besides():
    tree = ProviderTree()
    rows = [row("r", None, 5) | HAD, row("c", "r", 6) | HAD]
    tree.populate_whole(rows)
    has = ProviderData("c", "c-name", 6, "r", {"VCPU": VCPU}, {"CUSTOM_T"}, {"agg"}, {})
    assert tree.data("c") == has
    tree.populate_from_iterable(rows)
    assert tree.data("c") == ProviderData("c", "c-name", 6, "r", {}, set(), set(), {})


def test_all_of_a_provider_is_updated_and_an_unknown_one_is_added_only_if_that_is_wanted():
    tree = ProviderTree()
    with pytest.raises(ValueError, match="No such provider"):
        tree.update_all(row("r") | HAD)
    tree.update_all(row("r", "elsewhere") | HAD, may_add=True)
    has = ProviderData("r", "r-name", 1, None, {"VCPU": VCPU}, {"CUSTOM_T"}, {"agg"}, {})
    assert tree.data("r") == has
    bare = {"inventories": {}, "aggregates": [], "traits": []}
    tree.update_all(row("r", generation=2) | bare, may_add=True)
    assert tree.data("r") == ProviderData("r", "r-name", 2, None, {}, set(), set(), {})


@pytest.mark.parametrize("nothing", [None, [], iter(())])
def test_populating_with_nothing_changes_nothing(tree, nothing):
    before = tree.get_provider_uuids()
    tree.populate_from_iterable(nothing)
    assert tree.get_provider_uuids() == before


def test_the_last_of_two_rows_for_one_uuid_wins():
    tree = ProviderTree()
    tree.populate_from_iterable([row("r", generation=1), row("r", generation=2)])
    assert tree.data("r").generation == 2


def test_a_row_needs_a_uuid_and_a_name(tree):
    with pytest.raises(KeyError):
        tree.populate_from_iterable([{"name": "x"}])
    with pytest.raises(KeyError):
        tree.populate_from_iterable([{"uuid": "x"}])


def test_generation_and_parent_may_be_absent():
    tree = ProviderTree()
    tree.populate_from_iterable([{"uuid": "r", "name": "n"}])
    assert tree.data("n") == ProviderData("r", "n", None, None, {}, set(), set(), {})


def test_t11_populating_again_wipes_what_was_known_of_a_provider():
    tree = ProviderTree()
    rows = [row("r"), row("c", "r")]
    tree.populate_from_iterable(rows)
    tree.update_inventory("c", {"VCPU": VCPU})
    tree.add_traits("c", "T")
    tree.add_aggregates("c", "A")
    tree.populate_from_iterable(rows)
    assert tree.data("c")[4:] == ({}, set(), set(), {})


def test_t11_descendants_that_are_not_listed_disappear(tree):
    tree.populate_from_iterable([row("numa0-uuid", "cn-uuid", name="numa0")])
    assert tree.get_provider_uuids("cn") == ["cn-uuid", "numa1-uuid", "numa0-uuid"]


def test_providers_elsewhere_survive_untouched(tree):
    tree.add_traits("ssp", "T")
    tree.populate_from_iterable([row("cn-uuid", name="cn")])
    assert tree.get_provider_uuids() == ["ssp-uuid", "cn-uuid"]
    assert tree.has_traits("ssp", ["T"])


def test_t11_unknown_parents_change_nothing(tree):
    before = tree.get_provider_uuids()
    with pytest.raises(ValueError, match="The following parents were not found: ghost"):
        tree.populate_from_iterable([row("cn-uuid"), row("c", "ghost")])
    assert tree.get_provider_uuids() == before


@pytest.mark.parametrize(
    "circle", [[row("a", "a")], [row("a", "b"), row("b", "a")], [row("r"), row("a", "a")]]
)
def test_t11_a_circle_of_parents_changes_nothing(tree, circle):
    before = tree.get_provider_uuids()
    with pytest.raises(ValueError, match="Unexpectedly failed to find parents"):
        tree.populate_from_iterable(circle)
    assert tree.get_provider_uuids() == before


def test_a_child_of_a_descendant_that_goes_with_its_replaced_root_is_refused(tree):
    with pytest.raises(ValueError, match="No such provider pf0-uuid"):
        tree.populate_from_iterable([row("cn-uuid", name="cn"), row("vf", "pf0-uuid")])


def test_populate_can_move_and_rename_a_provider(tree):
    tree.populate_from_iterable(
        [row("numa1-uuid", None, name="freed"), row("ssp-uuid", "numa1-uuid", name="moved")]
    )
    assert tree.get_provider_uuids() == [
        "cn-uuid",
        "numa0-uuid",
        "pf0-uuid",
        "numa1-uuid",
        "ssp-uuid",
    ]
    assert tree.roots_by_name.keys() == {"cn", "freed"}
    assert not tree.exists("ssp")
    assert tree.data("moved").parent_uuid == "numa1-uuid"
