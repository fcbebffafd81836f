"""same_subtree within one tree: served where it can be, and disproved in a few steps."""

import sys

from placement.candidates.tree_problem import Local, RequestShape, Variable
from tests.unit.placement.candidates.tree_problems import VF, devices_of, looks, packing, solutions


def pairs(count):
    """same_subtree of groups 0 and 1, 2 and 3, …"""
    return tuple(frozenset((2 * n, 2 * n + 1)) for n in range(count))


def test_pairs_on_siblings_have_no_provider_on_top():
    shape = packing([1] * 16, isolate=True, subtrees=pairs(8))

    assert list(solutions(shape, devices_of([8] * 8), looks(2))) == []


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


def test_the_unsuffixed_group_may_share_a_provider_though_the_others_are_isolated():
    demands = [((VF, amount),) for amount in (2, 1, 1)]
    groups = (("1", 1), ("2", 0), ("", 0))
    variables = tuple(
        Variable(suffix, kind, demand, demand)
        for (suffix, kind), demand in zip(groups, demands, strict=True)
    )
    shape = RequestShape(variables, (frozenset((0, 1)),), 0, isolate=True, nested=True)
    # the first has too little, which makes the search look ahead
    chain = [Local(2, 0, 7, -1, (1,)), Local(1, 0, 6, -1, (6,)), Local(3, 0, 4, -1, (2,))]

    assert list(solutions(shape, chain)) == [(2, 1, 1)]


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


def test_more_same_subtrees_than_python_allows_calls_are_served():
    count = sys.getrecursionlimit() + 100
    subtrees = tuple(frozenset((n, n + 1)) for n in range(count - 1))

    found = next(
        solutions(packing([1] * count, subtrees=subtrees), devices_of([count]), looks(200))
    )

    assert found == (0,) * count


def test_more_same_subtrees_than_python_allows_calls_are_disproved():
    """Each group of a chain fits beside the next, but nothing has room for all."""
    count = sys.getrecursionlimit() + 100
    subtrees = tuple(frozenset((n, n + 1)) for n in range(count - 1))
    shape = packing([1] * count, subtrees=subtrees)

    assert list(solutions(shape, devices_of([count - 1]), looks(20_000))) == []
