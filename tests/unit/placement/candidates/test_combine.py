"""The search within one tree: exact, without repetition, and never lost in dead ends."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.candidates.backtracking import solutions
from placement.candidates.bitset import bits
from placement.candidates.counting import CountedSolutions
from placement.candidates.rejection_sampling import is_solution
from placement.candidates.tree_problem import Local, Shape, Variable, options_of

VF = 1


def shape_of(groups, isolate=False, subtrees=(), amounts=None):
    """Suffixed groups of one unit each, given by their kinds."""
    amounts = amounts or [1] * len(groups)
    variables = tuple(
        Variable(str(n), kind, ((VF, amount),), ((VF, amount),))
        for n, (kind, amount) in enumerate(zip(groups, amounts, strict=True))
    )
    return Shape(variables, subtrees, 0, isolate, nested=True)


def devices(count, units, options=1):
    return [Local(options, 0, 1 << n, -1, (units,)) for n in range(count)]


def by_trying_all(shape, locals_):
    """Return the valid solutions, from the definition."""
    found = set()
    for choice in itertools.product(range(len(locals_)), repeat=len(shape.variables)):
        variables = list(zip(shape.variables, choice, strict=True))
        if not all(locals_[n].options >> v.kind & 1 for v, n in variables):
            continue
        taken = [0] * len(locals_)
        for variable, number in variables:
            taken[number] += variable.demand[0][1]
        if any(amount > locals_[n].rooms[0] for n, amount in enumerate(taken)):
            continue
        if shape.isolate and len(set(choice)) < len(choice):
            continue
        if all(
            any(all(locals_[top].below >> choice[v] & 1 for v in members) for top in tops)
            for members in shape.subtrees
            for tops in [{choice[v] for v in members}]
        ):
            found.add(choice)
    return found


@st.composite
def problems(draw):
    """Small trees: locals in a chain or side by side, and up to four groups of two kinds."""
    count = draw(st.integers(1, 4))
    parents = [draw(st.integers(-1, n - 1)) for n in range(count)]
    below = [1 << n for n in range(count)]
    for n in reversed(range(count)):
        if parents[n] >= 0:
            below[parents[n]] |= below[n]
    locals_ = [
        Local(draw(st.integers(0, 3)), 0, below[n], -1, (draw(st.integers(0, 7)),))
        for n in range(count)
    ]
    groups = draw(st.lists(st.integers(0, 1), min_size=2, max_size=5))
    amounts = [draw(st.integers(1, 4)) for _ in groups]
    subtrees = tuple(
        draw(
            st.lists(
                st.frozensets(st.integers(0, len(groups) - 1), min_size=2), max_size=3, unique=True
            )
        )
    )
    return shape_of(groups, draw(st.booleans()), subtrees, amounts), locals_


@settings(max_examples=300, deadline=None)
@given(problem=problems())
def test_solutions_are_those_of_the_definition(problem):
    found = list(solutions(*problem))

    assert len(found) == len(set(found))
    assert set(found) == by_trying_all(*problem)


@settings(max_examples=300, deadline=None)
@given(problem=problems())
def test_a_lottery_has_every_solution_under_one_number(problem):
    lottery = CountedSolutions(*problem)

    drawn = [lottery.solution(number) for number in range(lottery.count)]

    assert len(drawn) == len(set(drawn))
    assert set(drawn) == by_trying_all(*problem)


@settings(max_examples=300, deadline=None)
@given(problem=problems())
def test_a_choice_of_options_is_valid_by_the_definition_or_not_at_all(problem):
    shape, locals_ = problem
    options = [list(bits(mask)) for mask in options_of(shape, locals_)]

    valid = {choice for choice in itertools.product(*options) if is_solution(*problem, choice)}

    assert valid == by_trying_all(*problem)


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


def test_a_lottery_counts_what_nobody_could_list():
    shape = shape_of([0] * 64, isolate=True)
    lottery = CountedSolutions(shape, devices(64, 1))

    assert lottery.count == _factorial(64)
    assert sorted(lottery.solution(lottery.count - 1)) == list(range(64))


def _factorial(number):
    return 1 if number < 2 else number * _factorial(number - 1)


def test_a_number_beyond_the_last_solution_is_an_error():
    lottery = CountedSolutions(shape_of([0]), devices(2, 1))

    with pytest.raises(IndexError):
        lottery.solution(2)
