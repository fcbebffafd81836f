"""The order of moves, and which of them wait (placement/extensions/plans/order.py)."""

import itertools

import hypothesis.strategies as st
from hypothesis import given

from placement.extensions.plans.order import in_order, ties

KEYS = "abc"
AMOUNTS = st.dictionaries(st.sampled_from(KEYS), st.integers(-4, 4), max_size=2)
FREE = st.fixed_dictionaries({key: st.integers(-1, 4) for key in KEYS})


def fits(changes, free, order):
    """Say whether moves can be made in this order, one after the other."""
    left = dict(free)
    for number in order:
        for key, amount in changes[number].items():
            if amount > max(left[key], 0):
                return False
        for key, amount in changes[number].items():
            left[key] -= amount
    return True


@given(st.lists(AMOUNTS, max_size=4), FREE)
def test_an_order_is_found_if_there_is_one(changes, free):
    found = in_order(changes, free, {})
    orders = itertools.permutations(range(len(changes)))
    if found is None:
        assert not any(fits(changes, free, order) for order in orders)
    else:
        assert fits(changes, free, found)


@given(st.lists(AMOUNTS, max_size=4), FREE)
def test_whatever_runs_side_by_side_no_inventory_is_over_its_capacity(changes, free):
    order = in_order(changes, free, {})
    if order is None:
        return
    changes = [changes[number] for number in order]
    after = ties(changes, free, {})
    states = [(frozenset(), frozenset())]
    seen = set(states)
    for begun, ended in states:
        for key in KEYS:
            taken = sum(max(changes[one].get(key, 0), 0) for one in begun)
            given_ = sum(max(-changes[one].get(key, 0), 0) for one in ended)
            assert taken == 0 or taken - given_ <= free[key] or free[key] < 0
        for number in range(len(changes)):
            more = []
            if number not in begun and ended >= set(after[number]):
                more.append((begun | {number}, ended))
            if number in begun - ended:
                more.append((begun, ended | {number}))
            for state in more:
                if state not in seen:
                    seen.add(state)
                    states.append(state)
    assert (frozenset(range(len(changes))),) * 2 in seen


def test_a_chain_waits_for_what_it_needs_alone():
    """The first goes where the second leaves, which goes where the third leaves."""
    changes = [{"a": -4, "b": 4}, {"b": -4, "c": 4}, {"c": -4, "d": 4}, {"a": -1, "d": 1}]
    free = {"a": 0, "b": 0, "c": 0, "d": 5}
    assert in_order(changes, free, {}) == [2, 1, 0, 3]
    assert ties([changes[2], changes[1], changes[0], changes[3]], free, {}) == [[], [0], [1], []]


def test_two_that_must_be_apart_wait_for_each_other():
    changes = [{"a": -1, "b": 1}, {"b": -1, "c": 1}]
    free = {"a": 5, "b": 5, "c": 5}
    first = {0: frozenset([1])}
    assert in_order(changes, free, first) == [1, 0]
    assert ties([changes[1], changes[0]], free, {1: frozenset([0])}) == [[], [0]]
