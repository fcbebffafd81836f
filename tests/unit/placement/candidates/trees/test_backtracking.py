"""The search within one tree: exact, without repetition, and never lost in dead ends.

Requests made to explode are decided in a few steps; the budget ends what can't be decided.
"""

import itertools
import random

import pytest
from hypothesis import given, settings

from placement.candidates.budget import OutOfTime
from placement.candidates.tree_problem import Local, RequestShape, Variable
from tests.extent import examples
from tests.unit.placement.candidates.tree_problems import (
    VF,
    VGPU,
    by_trying_all,
    devices,
    devices_of,
    looks,
    packing,
    problems,
    shape_of,
    solutions,
)


@settings(max_examples=examples(100, 300), deadline=None)
@given(problem=problems())
def test_solutions_are_those_of_the_definition(problem):
    wanted = sorted(by_trying_all(*problem))

    for source in (None, random.Random(1)):
        assert sorted(solutions(*problem, source=source)) == wanted


@pytest.mark.parametrize(("hits", "found"), [((1, 0, 0), [(0, 2)]), ((0, 0, 0), [])])
def test_one_provider_of_the_unsuffixed_group_has_the_required_trait(hits, found):
    variables = tuple(Variable("", n, ((key, 1),), ()) for n, key in enumerate((VF, VGPU)))
    locals_ = [Local((1, 1, 2)[n], hits[n], 1 << n, -1, ()) for n in range(3)]
    shape = RequestShape(variables, (), 1, isolate=False, nested=True)

    assert list(solutions(shape, locals_)) == found


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(("children", "groups"), [(8, 8), (21, 8), (21, 21), (32, 32), (64, 64)])
def test_explosive_shapes_give_as_many_solutions_as_are_asked_for(children, groups, isolate):
    shape = shape_of([0] * groups, isolate)

    found = list(itertools.islice(solutions(shape, devices(children, 1)), 1000))

    assert len(set(found)) == 1000
    assert all(len(set(solution)) == groups for solution in found)


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("children", [8, 21, 32, 64])
def test_one_group_too_many_is_seen_at_once(children, isolate):
    shape = shape_of([0] * (children + 1), isolate)

    assert list(solutions(shape, devices(children, 1))) == []


def test_a_few_groups_that_compete_for_too_little_are_seen_among_many_that_dont():
    """Hall's condition: 20 groups fit 40 devices, but 5 of them only 4."""
    shape = shape_of([0] * 15 + [1] * 5)
    locals_ = devices(36, 1, options=1) + devices(4, 1, options=3)

    assert list(solutions(shape, locals_)) == []


def test_a_beginning_that_takes_what_others_need_is_not_extended():
    shape = shape_of([0] * 16 + [1] * 16)
    locals_ = devices(16, 1, options=3) + devices(16, 1, options=1)

    found = list(itertools.islice(solutions(shape, locals_), 100))

    assert len(set(found)) == 100


def test_unequal_amounts_that_fill_every_device_are_found():
    """Twelve devices of five units: a three and a two on each."""
    shape = shape_of([0] * 24, amounts=[3] * 12 + [2] * 12)

    found = next(solutions(shape, devices(12, 5)))

    assert sorted(found) == sorted([*range(12)] * 2)


def test_unequal_amounts_that_cannot_be_packed_are_given_up():
    """The sum fits, but two threes don't fit into five."""
    shape = shape_of([0] * 11, amounts=[3] * 11)

    assert list(solutions(shape, devices(10, 5))) == []


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
    assert list(solutions(packing(amounts), devices_of(rooms), looks(50))) == []


@pytest.mark.parametrize("pieces", [2, 3])
def test_unequal_groups_that_fill_every_device_are_packed(pieces):
    amounts = filled(8, pieces, 1000)

    found = next(solutions(packing(amounts), devices_of([1000] * 8), looks(1000)))

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
    shape = RequestShape(variables, (), 0, isolate=True, nested=True)

    assert list(solutions(shape, locals_, looks(1))) == []


def undecidable():
    """Packing of two classes at a time, which no bound decides."""
    source = random.Random(3)
    variables = []
    for number in range(30):
        demand = tuple((key, source.randint(20, 45)) for key in (VF, VGPU))
        variables.append(Variable(str(number), 0, demand, demand))
    locals_ = [Local(1, 0, 1 << n, -1, (98, 98)) for n in range(11)]
    return RequestShape(tuple(variables), (), 0, False, nested=True), locals_


def test_what_no_bound_decides_ends_with_the_budget():
    with pytest.raises(OutOfTime):
        next(solutions(*undecidable(), looks(20)))


def test_what_is_remembered_of_ended_searches_is_given_back():
    budget = looks(20)
    with pytest.raises(OutOfTime):
        next(solutions(*undecidable(), budget))

    assert all(budget.remember() for _ in range(50_000))
