"""Solutions are counted without listing them, and found by number."""

import pytest
from hypothesis import given, settings

from placement.candidates.budget import Allowance, TooManyToCount
from placement.candidates.trees.counting import CountedSolutions
from tests.endless import endless
from tests.extent import examples
from tests.unit.placement.candidates.tree_problems import (
    by_trying_all,
    devices,
    devices_of,
    packing,
    problems,
    shape_of,
)


@settings(max_examples=examples(100, 300), deadline=None)
@given(problem=problems())
def test_every_solution_has_one_number(problem):
    counted = CountedSolutions(*problem, endless())

    drawn = [counted.solution(number) for number in range(counted.count)]

    assert len(drawn) == len(set(drawn))
    assert set(drawn) == by_trying_all(*problem)


def test_more_solutions_than_anyone_could_list_are_counted():
    shape = shape_of([0] * 64, isolate=True)
    counted = CountedSolutions(shape, devices(64, 1), endless())

    assert counted.count == _factorial(64)
    assert sorted(counted.solution(counted.count - 1)) == list(range(64))


def _factorial(number):
    return 1 if number < 2 else number * _factorial(number - 1)


def test_a_number_beyond_the_last_solution_is_an_error():
    counted = CountedSolutions(shape_of([0]), devices(2, 1), endless())

    with pytest.raises(IndexError):
        counted.solution(2)


def test_counting_ends_with_what_it_may_look_at():
    amounts = [101, 113, 127, 131, 137, 139, 149, 151, 157, 163]
    rooms = [300 + 37 * n for n in range(8)]

    with pytest.raises(TooManyToCount):
        CountedSolutions(packing(amounts), devices_of(rooms), endless(), Allowance(1000))
