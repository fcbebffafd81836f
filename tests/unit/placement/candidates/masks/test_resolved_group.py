"""Names of a group are looked up once, in the order of allocation-candidates.md 1.9."""

import pytest

from placement.candidates.cloud.snapshot import AllTrees
from placement.candidates.masks.mask_steps import ResolvedGroup, Unmatched, resolve
from placement.candidates.request import Group
from placement.errors import BadRequest
from tests.unit.placement.candidates.snapshots import host

AVX, NO_TRAIT = frozenset(["HW_CPU_X86_AVX2"]), frozenset(["CUSTOM_NO_TRAIT"])
RACK, NO_AGGREGATE = frozenset(["rack"]), frozenset(["nowhere"])


@pytest.fixture
def snapshot(clouds):
    return clouds.snapshot({"a": (None, {"VCPU": 4}, [], ["rack"]), "b": host(VCPU=4)})


def test_every_name_has_an_id(snapshot):
    asked = Group("_X", {"VCPU": 2}, (AVX,), member_of=(RACK,), in_tree="b")

    found = resolve(AllTrees(snapshot), asked)

    assert isinstance(found, ResolvedGroup)
    assert found.demand == ((snapshot.names.class_ids["VCPU"], 2),)
    assert found.required == ((snapshot.names.trait_ids["HW_CPU_X86_AVX2"],),)
    assert found.member_of == ((snapshot.aggregate_ids["rack"],),)
    assert found.root == snapshot.slot("b")
    assert found.members.tolist() == [True, False]


def test_members_are_in_an_aggregate_of_each_set(clouds):
    labels = {"a": ["rack"], "b": ["room"], "c": ["rack", "room"], "d": []}
    snapshot = clouds.snapshot({name: (None, {"VCPU": 4}, [], has) for name, has in labels.items()})

    found = resolve(
        AllTrees(snapshot), Group("", {"VCPU": 1}, member_of=(RACK, frozenset(["room"])))
    )

    assert found.members.tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    ("conditions", "named"),
    [
        ({"member_of": (NO_AGGREGATE,), "required": (NO_TRAIT,)}, "CUSTOM_NO_CLASS"),
        ({"required": (NO_TRAIT,), "in_tree": "nowhere"}, "CUSTOM_NO_CLASS"),
    ],
)
def test_a_class_that_does_not_exist_is_refused_first(snapshot, conditions, named):
    with pytest.raises(BadRequest, match=named):
        resolve(AllTrees(snapshot), Group("", {"CUSTOM_NO_CLASS": 1}, **conditions))


def test_a_group_without_members_is_unmatched_before_its_traits_are_looked_up(snapshot):
    found = resolve(
        AllTrees(snapshot), Group("", {"VCPU": 1}, (NO_TRAIT,), member_of=(NO_AGGREGATE,))
    )

    assert isinstance(found, Unmatched)
    assert found.step == "member_of"


def test_a_trait_that_does_not_exist_is_refused_before_the_tree_is_looked_up(snapshot):
    with pytest.raises(BadRequest, match="CUSTOM_NO_TRAIT"):
        resolve(AllTrees(snapshot), Group("", {"VCPU": 1}, forbidden=NO_TRAIT, in_tree="nowhere"))


def test_a_tree_that_does_not_exist_is_no_error(snapshot):
    assert isinstance(
        resolve(AllTrees(snapshot), Group("", {"VCPU": 1}, in_tree="nowhere")), Unmatched
    )


def test_groups_with_equal_conditions_have_equal_keys_whatever_their_order(snapshot):
    first = resolve(AllTrees(snapshot), Group("_X", {"VCPU": 2, "DISK_GB": 1}, (AVX,)))
    second = resolve(AllTrees(snapshot), Group("_Y", {"DISK_GB": 1, "VCPU": 2}, (AVX,)))
    other = resolve(AllTrees(snapshot), Group("_Z", {"DISK_GB": 1, "VCPU": 3}, (AVX,)))

    assert first.conditions == second.conditions != other.conditions
