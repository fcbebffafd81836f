"""The state of a search within one tree."""

from placement.candidates.tree_problem import options_of
from placement.candidates.trees.assignment import Assignment
from placement.candidates.trees.search_plan import plan
from tests.unit.placement.candidates.tree_problems import devices, shape_of


def test_what_was_given_back_does_not_count_as_used():
    shape, locals_ = shape_of([0, 0]), devices(2, 5)
    top = 1
    tops = [(frozenset([0, 1]), top)]
    assignment = Assignment(plan(shape, locals_, options_of(shape, locals_), tops))
    assignment.take(0, top)
    assignment.take(1, top)
    assignment.give_back(1)
    assignment.give_back(0)

    assignment.take(0, 0)

    # only the last variable is left for the top
    assert assignment.open(1) == 1 << top
