"""Which states of a search within one tree lead to the same (allocation-candidates.md 2.6)."""

import pytest

from placement.candidates.tree_problem import Local, RequestShape, Variable, options_of
from placement.candidates.trees.assignment import Assignment, plan
from placement.candidates.trees.counting import CountedSolutions
from placement.candidates.trees.symmetry import Symmetry
from tests.endless import endless
from tests.unit.placement.candidates.tree_problems import VF, VGPU, devices, shape_of

OWN, ANOTHER = -1, 7


def uncontested(nested):
    """Two groups, each with a class of its own."""
    variables = tuple(Variable(str(n), 0, ((key, 1),), ()) for n, key in enumerate((VF, VGPU)))
    return RequestShape(variables, (), 0, isolate=False, nested=nested)


def locals_of(*trees):
    return [Local(1, 0, 1 << n, tree, ()) for n, tree in enumerate(trees)]


def states(shape, locals_):
    """Return the state after each choice for the first variable."""
    planned = plan(shape, locals_, options_of(shape, locals_), ())
    assignment, symmetry = Assignment(planned), Symmetry(planned)
    found = []
    for local in range(len(locals_)):
        assignment.take(0, local)
        found.append(symmetry.state(assignment, 1, planned.nothing_hit))
        assignment.give_back(0)
    return found


def test_where_a_candidate_has_one_provider_of_a_tree_the_used_one_matters():
    own, alike, of_another = states(uncontested(nested=False), locals_of(OWN, OWN, ANOTHER))

    assert own == alike != of_another


def test_where_it_has_any_the_used_one_matters_no_more_than_its_rooms():
    assert len(set(states(uncontested(nested=True), locals_of(OWN, OWN, ANOTHER)))) == 1


def test_solutions_with_one_provider_of_a_tree_are_all_counted():
    counted = CountedSolutions(uncontested(nested=False), locals_of(OWN, OWN, ANOTHER), endless())

    solutions = sorted(counted.solution(number) for number in range(counted.count))

    # all pairs but those of the tree's own two providers
    assert solutions == [(0, 0), (0, 2), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]


@pytest.mark.parametrize("isolate", [False, True])
def test_equal_providers_can_stand_for_each_other(isolate):
    first, second, larger = states(shape_of([0, 0], isolate), [*devices(2, 2), *devices(1, 5)])

    assert first == second != larger


def test_a_provider_that_nothing_can_use_makes_no_difference():
    shape, able = shape_of([0, 0]), devices(1, 2)
    unable = Local(0, 0, 1 << 1, OWN, (9,))

    assert states(shape, able)[0] == states(shape, [*able, unable])[0]
