"""Requests made to explode are decided in a few steps; what can't be decided ends."""

import itertools
import random

import pytest

from placement.candidates.backtracking import solutions
from placement.candidates.budget import Budget, OutOfTime
from placement.candidates.counting import Allowance, CountedSolutions, TooManyToCount
from placement.candidates.explanation import explain
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.tree_problem import Local, Shape, Variable
from tests.unit.placement.candidates.snapshots import child, host

VF, VGPU = 1, 2
CLASS = "SRIOV_NET_VF"


def looks(count):
    """Make a budget of so many looks at the clock, 2,000 steps apart."""
    return Budget(count, clock=itertools.count().__next__)


def packing(amounts, isolate=False, subtrees=()):
    """Suffixed groups that all have the same options."""
    variables = tuple(
        Variable(str(n), 0, ((VF, amount),), ((VF, amount),)) for n, amount in enumerate(amounts)
    )
    return Shape(variables, subtrees, 0, isolate, nested=True)


def devices(rooms):
    return [Local(1, 0, 1 << n, -1, (room,)) for n, room in enumerate(rooms)]


def filled(count, pieces, size, seed=7):
    """Amounts that fill so many devices exactly."""
    source = random.Random(seed)
    amounts = []
    for _ in range(count):
        cuts = sorted(source.sample(range(1, size), pieces - 1))
        amounts += [end - start for start, end in itertools.pairwise([0, *cuts, size])]
    source.shuffle(amounts)
    return amounts


SEVENTEEN = range(34, 51)


@pytest.mark.parametrize(
    ("amounts", "rooms"),
    [
        pytest.param(SEVENTEEN, [100] * 8, id="more than a third each"),
        pytest.param([2 * n for n in range(17, 34)], [107] * 8, id="even amounts in odd rooms"),
        pytest.param(
            [11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73],
            [88] * 8,
            id="primes that nearly fill all",
        ),
        pytest.param(filled(8, 3, 1000), [1000] * 7 + [999], id="one unit too little"),
    ],
)
def test_unequal_groups_that_cannot_be_packed_are_disproved(amounts, rooms):
    assert list(solutions(packing(amounts), devices(rooms), looks(50))) == []


@pytest.mark.parametrize("pieces", [2, 3])
def test_unequal_groups_that_fill_every_device_are_packed(pieces):
    amounts = filled(8, pieces, 1000)

    found = next(solutions(packing(amounts), devices([1000] * 8), looks(1000)))

    taken = [0] * 8
    for amount, device in zip(amounts, found, strict=True):
        taken[device] += amount
    assert taken == [1000] * 8


def test_groups_that_need_a_provider_each_are_matched_by_amount():
    """Forty devices of 10 to 49 units; four groups ask for what only three have."""
    rooms = list(range(10, 50))
    amounts = [47] * 4 + [1] * 30

    locals_ = [
        Local(
            sum(1 << (amount > 1) for amount in (1, 47) if room >= amount), 0, 1 << n, -1, (room,)
        )
        for n, room in enumerate(rooms)
    ]
    variables = tuple(
        Variable(str(n), int(amount > 1), ((VF, amount),), ((VF, amount),))
        for n, amount in enumerate(amounts)
    )
    shape = Shape(variables, (), 0, isolate=True, nested=True)

    assert list(solutions(shape, locals_, looks(1))) == []


def pairs(count):
    """same_subtree of groups 0 and 1, 2 and 3, …"""
    return tuple(frozenset((2 * n, 2 * n + 1)) for n in range(count))


def test_pairs_on_siblings_have_no_provider_on_top():
    shape = packing([1] * 16, isolate=True, subtrees=pairs(8))

    assert list(solutions(shape, devices([8] * 8), looks(2))) == []


def chains(count, length):
    """Subtrees of one provider below the other."""
    return [
        Local(1, 0, sum(1 << chain * length + n for n in range(at, length)), -1, (8,))
        for chain in range(count)
        for at in range(length)
    ]


def test_more_pairs_than_subtrees_that_have_room_for_one_each_are_disproved():
    """Each chain of three has room for one pair, though there are enough providers for all."""
    shape = packing([1] * 18, isolate=True, subtrees=pairs(9))

    assert list(solutions(shape, chains(8, 3), looks(200))) == []


def test_as_many_pairs_as_subtrees_are_found():
    shape = packing([1] * 16, isolate=True, subtrees=pairs(8))

    found = next(solutions(shape, chains(8, 3), looks(200)))

    assert len(set(found)) == 16


def test_overlapping_same_subtrees_that_no_nest_has_room_for_are_disproved():
    """Ten groups, each with the next: all must be in one nest, and nests have four providers."""
    nests = []
    for nest in range(10):
        at = 4 * nest
        nests.append(Local(1, 0, 15 << at, -1, (8,)))
        nests += [Local(1, 0, 1 << at + n, -1, (8,)) for n in (1, 2, 3)]
    subtrees = tuple(frozenset((n, n + 1)) for n in range(9))

    assert list(solutions(packing([1] * 10, True, subtrees), nests, looks(200))) == []


def test_overlapping_same_subtrees_down_a_deep_tree_are_served():
    subtrees = tuple(frozenset((n, (n + 1) % 12, (n + 5) % 12)) for n in range(12))

    found = next(solutions(packing([1] * 12, True, subtrees), chains(1, 30), looks(2000)))

    assert len(set(found)) == 12


def undecidable():
    """Packing of two classes at a time, which no bound decides."""
    source = random.Random(3)
    variables = []
    for number in range(30):
        demand = tuple((key, source.randint(20, 45)) for key in (VF, VGPU))
        variables.append(Variable(str(number), 0, demand, demand))
    locals_ = [Local(1, 0, 1 << n, -1, (98, 98)) for n in range(11)]
    return Shape(tuple(variables), (), 0, False, nested=True), locals_


def test_what_no_bound_decides_ends_with_the_budget():
    with pytest.raises(OutOfTime):
        next(solutions(*undecidable(), looks(20)))


def test_what_is_remembered_of_ended_searches_is_given_back():
    budget = looks(20)
    with pytest.raises(OutOfTime):
        next(solutions(*undecidable(), budget))

    assert all(budget.remember() for _ in range(50_000))


def test_counting_ends_with_what_it_may_look_at():
    amounts = [101, 113, 127, 131, 137, 139, 149, 151, 157, 163]
    rooms = [300 + 37 * n for n in range(8)]

    with pytest.raises(TooManyToCount):
        CountedSolutions(packing(amounts), devices(rooms), Budget(), Allowance(1000))


def test_a_tree_whose_search_ran_into_a_bound_is_neither_fruitful_nor_fruitless(clouds):
    providers = {"root": host(VCPU=1)}
    providers |= {f"c{n}": child("root", VGPU=98, SRIOV_NET_VF=98) for n in range(11)}
    source = random.Random(3)
    groups = tuple(
        Group(str(n), {name: source.randint(20, 45) for name in (CLASS, "VGPU")}) for n in range(30)
    )

    explanation = explain(clouds.snapshot(providers), CandidateRequest(groups), looks(70))

    assert explanation.undecided == ("root",)
    assert explanation.fruitful == explanation.fruitless == ()
