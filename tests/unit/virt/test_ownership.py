"""A driver touches the providers it made, and knows them by their names."""

import pytest

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.provider_tree.names import child_name
from virt.ownership import Ownership, ensure_child, own_child, suffix_like

NODE = "host1"


@pytest.fixture
def tree():
    tree = ProviderTree()
    tree.new_root(NODE, "root")
    tree.new_root("host2_numa0", "other")
    return tree


@pytest.mark.parametrize(
    ("name", "traits", "is_ours"),
    [
        ("host1_numa0", [], True),
        ("host1_numa0", ["OWNER_NOVA", "CUSTOM_X"], True),
        ("host1_card", [], True),
        ("host1_numa0", ["OWNER_CYBORG"], False),
        ("host1_card", ["OWNER_CYBORG"], False),
        ("host1_numa0", ["COMPUTE_MANAGED_PCI_DEVICE"], False),
        ("host1_numax", [], False),
        ("host1_accelerator", [], False),
        ("operators", [], False),
    ],
)
def test_a_provider_is_the_drivers_by_its_name_unless_it_says_otherwise(
    tree, name, traits, is_ours
):
    tree.new_child(name, NODE, "child")
    tree.add_traits("child", *traits)
    ours = Ownership(NODE, suffix_like(r"numa\d+"), names=["host1_card"])
    assert [one.uuid for one in ours.below_root(tree)] == ["child"] * is_ours


def test_a_shortened_name_is_recognised(tree):
    node = "n" * 198
    tree.new_root(node, "long")
    child = tree.new_child(child_name(node, "numa3"), node)
    ours = Ownership(node, suffix_like(r"numa\d+"))
    assert [one.uuid for one in ours.below_root(tree)] == [child]


def test_a_child_is_made_once(tree):
    child = ensure_child(tree, "host1_numa0", NODE)
    assert ensure_child(tree, "host1_numa0", NODE) == child
    assert own_child(tree, "host1_numa0").uuid == child
    assert own_child(tree, "host1_numa1") is None


def test_a_child_of_anothers_is_not_taken_over(tree):
    tree.new_child("host1_numa0", NODE)
    tree.add_traits("host1_numa0", "OWNER_CYBORG")
    assert own_child(tree, "host1_numa0") is None
    with pytest.raises(exceptions.InvalidConfiguration, match=r"host1_numa0 .* another service's"):
        ensure_child(tree, "host1_numa0", NODE)
