"""Sums and Hall's condition against every assignment there is."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.trees.bounds import can_supply


def some_assignment_exists(wants, supplies):
    """Whether units can be handed out so that every want is met, trying all ways."""
    units = [bit for bit, amount in wants.items() for _ in range(amount)]
    for choice in itertools.product(range(len(supplies)), repeat=len(units)):
        fits = all(supplies[s][0] & bit for bit, s in zip(units, choice, strict=True))
        if fits and all(
            choice.count(s) <= max(amount, 0) for s, (_, amount) in enumerate(supplies)
        ):
            return True
    return not units


@given(
    wants=st.dictionaries(st.sampled_from([1, 2, 4]), st.integers(0, 2), max_size=3),
    supplies=st.lists(st.tuples(st.integers(0, 7), st.integers(-1, 3)), max_size=4),
)
def test_units_can_be_supplied_just_if_some_assignment_exists(wants, supplies):
    assert can_supply(wants, supplies) == some_assignment_exists(wants, supplies)


def test_enough_in_all_but_not_for_those_who_can_use_it_is_not_enough():
    assert not can_supply({1: 2, 2: 2}, [(2, 5), (3, 1)])


def test_amounts_too_large_to_walk_through_are_no_trouble():
    assert can_supply({1: 10**12, 2: 10**12}, [(1, 10**12), (3, 10**12)])
