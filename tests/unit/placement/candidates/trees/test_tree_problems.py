"""What each tree has for a request, as a problem of the search."""

import dataclasses

from placement.candidates.cloud.snapshot import AllTrees
from placement.candidates.masks.filter import GroupFilter
from placement.candidates.masks.mask_steps import StepListener
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.trees.tree_problems import AnchorTrees
from tests.endless import endless
from tests.unit.placement.candidates.snapshots import child, host

VF, CARD = "SRIOV_NET_VF", "VGPU"
#: root ── switch ── two cards, and a card beside the switch
CLOUD = {
    "root": host(),
    "switch": child("root", **{VF: 4}),
    "card 1": child("switch", **{CARD: 2}),
    "card 2": child("switch", **{CARD: 2}),
    "beside": child("root", **{CARD: 2}),
}
REQUEST = CandidateRequest(
    (Group("_N", {VF: 1}), Group("_C", {CARD: 1}), Group("_D", {CARD: 1})),
    same_subtree=(frozenset(["_N", "_C"]),),
)


def found_in(snapshot):
    """Return the candidates of the only tree, each as the names of its providers."""
    roots = snapshot.forest.is_root
    trees = AllTrees(snapshot)
    filtering = GroupFilter(trees, roots, StepListener())
    groups = [filtering.apply(group) for group in REQUEST.groups]
    trees = AnchorTrees(trees, REQUEST, groups, endless())
    (family,) = trees.families(*trees.split(roots))
    names = [snapshot.register.uuids[slot] for slot in family.slots(0)]
    solutions = (family.solutions.at(number) for number in range(100))
    return [tuple(names[local] for local in each) for each in solutions if each is not None]


def with_parents(snapshot, parents):
    """Return the snapshot with other parents of some providers, by name."""
    slot = snapshot.slot
    kin = {slot(name): (slot(parent), slot("root")) for name, parent in parents.items()}
    return dataclasses.replace(snapshot, forest=snapshot.forest.changed(kin, snapshot.size))


def test_a_subtree_reaches_down_over_providers_that_can_serve_nothing(clouds):
    between = {"bus": child("switch"), "card 2": child("bus", **{CARD: 2})}

    found = found_in(clouds.snapshot(CLOUD | between))

    assert sorted(found) == [
        ("switch", near, any_card)
        for near in ("card 1", "card 2")
        for any_card in ("beside", "card 1", "card 2")
    ]


def test_the_root_is_above_all(clouds):
    serving_root = {"root": host(**{VF: 4}), "switch": child("root")}

    found = found_in(clouds.snapshot(CLOUD | serving_root))

    assert {near for _, near, _ in found} == {"card 1", "card 2", "beside"}


def test_a_loop_of_parents_in_a_damaged_database_is_no_endless_loop(clouds):
    damaged = with_parents(clouds.snapshot(CLOUD), {"switch": "card 1"})

    found = found_in(damaged)

    # what is in the loop is below all of the loop
    assert {near for _, near, _ in found} == {"card 1", "card 2"}
