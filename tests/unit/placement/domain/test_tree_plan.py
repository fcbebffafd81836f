"""What a change of a tree means for the stored providers (extensions.md 3)."""

import pytest

from placement.domain import tree
from placement.domain.provider import UNCHANGED, Member
from placement.errors import (
    CreationRefused,
    NamedTwice,
    ObjectRefused,
    ProviderNotFound,
    ProviderOutsideTree,
)
from placement.extensions.provider_tree_changes.rules import TreeChange, TreePlan, WantedProvider

#: root ── host ── card, and other ── guest
STORED = {
    member.uuid: member
    for member in (
        Member(1, "root", "root's", 0, 1, None),
        Member(2, "host", "host's", 0, 1, 1),
        Member(3, "card", "card's", 0, 1, 2),
        Member(4, "other", "other's", 0, 4, None),
        Member(5, "guest", "guest's", 0, 4, 4),
    )
}
#: the tree of the root alone
ONE_TREE = {uuid: member for uuid, member in STORED.items() if member.root_id == 1}


def change(of="root", remove=(), **providers):
    """Return a change of the tree whose root is `of`."""
    return TreeChange(of, providers, dict.fromkeys(remove, 0), (), False)


def plan(members=STORED, **wanted):
    return TreePlan(change(**wanted), members)


def stays(parent=UNCHANGED, name=None):
    return WantedProvider(7, name, parent)


def new(parent=UNCHANGED):
    return WantedProvider(None, "name", parent)


# The change itself


def test_providers_are_new_or_expected_at_a_generation():
    asked = change(host=stays(), nic=new("host"), card=WantedProvider(0))

    assert set(asked.new) == {"nic"}
    assert asked.generations == {"host": 7, "card": 0}


def test_a_change_is_about_its_providers_their_parents_and_those_to_remove():
    asked = change(host=stays(), nic=new("shelf"), top=stays(None), remove=["card"])

    assert asked.named() == {"root", "host", "nic", "shelf", "top", "card"}


def test_nothing_is_written_and_removed_at_once():
    change(host=stays(), remove=["card"]).refuse_contradiction()
    with pytest.raises(NamedTwice, match="host"):
        change(card=stays(), host=stays(), remove=["host"]).refuse_contradiction()


# Places and names


def test_who_is_not_named_keeps_its_parent():
    made = plan(host=stays(), card=stays("root"), nic=new("host"), alone=new())

    assert made.parents == {
        "root": None,
        "host": "root",
        "card": "root",
        "other": None,
        "guest": "other",
        "nic": "host",
        "alone": None,
    }


def test_a_parent_outside_the_known_trees_is_no_parent():
    assert plan({"host": STORED["host"]}).parents == {"host": None}


@pytest.mark.parametrize(
    ("name", "renamed"), [(None, {}), ("host's", {}), ("another", {"host": "another"})]
)
def test_a_provider_is_renamed_by_another_name_alone(name, renamed):
    made = plan(host=stays(name=name), nic=new("host"))

    assert made.renamed == renamed
    assert made.changes_places is bool(renamed)


@pytest.mark.parametrize(
    ("parent", "moved"),
    [(UNCHANGED, {}), ("root", {}), ("card", {2: "card"}), (None, {2: None})],
)
def test_a_provider_is_moved_by_another_parent_alone(parent, moved):
    made = plan(host=stays(parent), nic=new("root"))

    assert made.moved == moved
    assert made.changes_places is bool(moved)


def test_a_removal_changes_places():
    assert plan(remove=["card"]).changes_places


def test_a_tree_that_gets_a_parent_joins_with_all_its_providers():
    assert plan(other=stays("card")).joining == [4, 5]
    assert plan(guest=stays("card")).joining == [5]
    assert plan(card=stays("root")).joining == []


def test_a_tree_joins_one_whose_root_is_new():
    assert plan(ONE_TREE, of="top", top=new(None), host=stays("top")).joining == [2, 3]


def test_all_below_a_moved_provider_are_shifted():
    assert plan(host=stays("other")).shifted() == {2, 3}
    assert plan(root=stays("guest")).shifted() == {1, 2, 3}
    assert plan(card=stays("root")).shifted() == {3}
    assert plan(card=stays("root"), host=stays("card")).shifted() == {2, 3}
    assert plan(nic=new("host"), card=stays()).shifted() == set()


def test_a_new_provider_below_a_moved_one_has_no_row_to_shift():
    assert plan(host=stays("other"), nic=new("host")).shifted() == {2, 3}


# Rows to lock


def test_the_rows_of_a_change_are_of_those_named_and_of_their_roots():
    assert plan(ONE_TREE, card=stays()).rows == {1, 3}
    assert plan(ONE_TREE, nic=new("host")).rows == {1, 2}
    assert plan(ONE_TREE, remove=["card"]).rows == {1, 3}
    assert plan(card=stays()).rows == {1, 3, 4}


def test_a_move_concerns_all_providers_of_its_trees():
    assert plan(ONE_TREE, card=stays("root")).rows == {1, 2, 3}
    assert plan(guest=stays("host")).rows == {1, 2, 3, 4, 5}


def test_each_tree_has_one_root():
    assert (plan().roots, plan(ONE_TREE).roots) == ({1, 4}, {1})


# Refusals


def test_the_root_is_stored_or_new():
    plan().refuse_no_root()
    plan({}, of="top", top=new(None)).refuse_no_root()
    with pytest.raises(ProviderNotFound, match="top"):
        plan(of="top").refuse_no_root()


FINE = {
    "nothing": {},
    "a new child": {"nic": new("card")},
    "a new child of a new child": {"nic": new("port"), "port": new("root")},
    "the same parent": {"card": stays("host")},
    "a root stays one": {"root": stays(None)},
    "a root finds a parent": {"other": stays("card"), "guest": stays()},
    "a removal": {"remove": ["card"]},
}


@pytest.mark.parametrize("may_reparent", [False, True])
@pytest.mark.parametrize("wanted", FINE.values(), ids=FINE)
def test_what_every_version_allows(wanted, may_reparent):
    plan(**wanted).refuse_misplaced(may_reparent)


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        pytest.param({"card": stays("root")}, tree.NO_REPARENTING, id="rising"),
        pytest.param({"guest": stays("root")}, tree.NO_REPARENTING, id="from another tree"),
    ],
)
def test_what_needs_version_1_37(wanted, reason):
    plan(**wanted).refuse_misplaced(True)
    with pytest.raises(ObjectRefused, match=f"Object action update failed because: {reason}"):
        plan(**wanted).refuse_misplaced(False)


REFUSED = {
    "a new one without a parent": ({"nic": new("nobody")}, CreationRefused, tree.NO_SUCH_PARENT),
    "new ones in a circle": ({"nic": new("port"), "port": new("nic")}, CreationRefused, tree.LOOP),
    "a new one below itself": ({"nic": new("nic")}, CreationRefused, tree.LOOP),
    "no such parent": ({"card": stays("nobody")}, ObjectRefused, tree.NO_SUCH_PARENT),
    "a circle": ({"host": stays("card")}, ObjectRefused, tree.LOOP),
    "a root below itself": ({"root": stays("card")}, ObjectRefused, tree.LOOP),
    "a second root": ({"card": stays(None)}, ProviderOutsideTree, "card would be a second root"),
    "a new second root": ({"nic": new(None)}, ProviderOutsideTree, "nic would be a second root"),
    "a child of another tree": (
        {"guest": stays()},
        ProviderOutsideTree,
        "guest would be in the tree with the root other, not in the tree with the root root",
    ),
    "removing of another tree": (
        {"remove": ["guest"]},
        ProviderOutsideTree,
        "guest would be in the tree with the root other",
    ),
    "a root that isn't one": (
        {"of": "host"},
        ProviderOutsideTree,
        "host would be in the tree with the root root, not in the tree with the root host",
    ),
}


@pytest.mark.parametrize(("wanted", "error", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_no_version_allows(wanted, error, reason):
    with pytest.raises(error, match=reason) as caught:
        plan(**wanted).refuse_misplaced(True)
    assert type(caught.value) is error


def test_a_refused_creation_names_the_provider():
    with pytest.raises(CreationRefused) as caught:
        plan(nic=new("nobody")).refuse_misplaced(True)
    assert caught.value.facts == {"uuid": "nic", "name": "name", "reason": tree.NO_SUCH_PARENT}


def test_which_providers_are_new_is_found_out_once():
    """Who asks for each of the new providers would else look at all of them each time."""
    change = TreeChange("root", {"root": WantedProvider(None, "a", None)}, {}, (), False)

    assert change.new is change.new
    assert change.generations is change.generations
