"""The search within one tree: the order of its variables, and what it has assigned."""

from placement.candidates.tree_problem import Local, RequestShape, Variable, options_of
from placement.candidates.trees.assignment import Assignment, plan
from tests.unit.placement.candidates.tree_problems import devices, shape_of


def planned(shape, locals_, tops=()):
    return plan(shape, locals_, options_of(shape, locals_), tops)


def test_variables_with_few_options_come_first():
    shape = shape_of([0, 1])
    locals_ = devices(3, 1, options=1) + devices(1, 1, options=3)

    assert planned(shape, locals_).order == (1, 0)


def test_large_amounts_come_first_among_equal_options():
    assert planned(shape_of([0, 0, 0], amounts=[1, 3, 2]), devices(3, 5)).order == (1, 2, 0)


def test_the_least_amount_of_a_class_is_known():
    assert planned(shape_of([0, 0], amounts=[4, 2]), devices(2, 5)).least == (2,)


def test_a_top_is_the_concern_of_the_last_variable_that_can_be_on_it():
    members = frozenset([0, 1])
    made = planned(shape_of([0, 0, 0]), devices(2, 5), [(members, 1)])

    assert [variable.last_for for variable in made.variables] == [(), ((members, 1),), ()]


def test_trait_sets_that_variables_behind_can_hit_are_known():
    variables = tuple(Variable("", 0, ((key, 1),), ()) for key in (1, 2))
    shape = RequestShape(variables, (), 2, isolate=False, nested=True)
    locals_ = [Local(1, 0b01, 1, -1, ()), Local(1, 0b10, 2, -1, ())]

    assert [variable.hits_behind for variable in planned(shape, locals_).variables] == [0b11, 0]


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
