"""A choice of options is valid by the definition or not at all."""

import itertools

from hypothesis import given, settings

from placement.candidates.tree_problem import bits, options_of
from placement.candidates.trees.rejection_sampling import is_solution
from tests.extent import examples
from tests.unit.placement.candidates.tree_problems import by_trying_all, problems


@settings(max_examples=examples(100, 300), deadline=None)
@given(problem=problems())
def test_a_choice_of_options_is_valid_by_the_definition_or_not_at_all(problem):
    shape, locals_ = problem
    options = [list(bits(mask)) for mask in options_of(shape, locals_)]

    valid = {choice for choice in itertools.product(*options) if is_solution(*problem, choice)}

    assert valid == by_trying_all(*problem)
