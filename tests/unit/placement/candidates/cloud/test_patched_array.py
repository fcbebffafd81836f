"""Long arrays of which a change copies little."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.cloud import patched_array as patched
from placement.candidates.cloud.patched_array import Patched, narrow

SIZE = 20
NUMBERS = st.integers(-(2**40), 2**40)
CHANGES = st.dictionaries(st.integers(0, SIZE - 1), NUMBERS)


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(patched, "_MANY", 5)


def change(numbers, changes):
    return numbers.changed(np.array(list(changes), np.int64), np.array(list(changes.values()), int))


@given(
    first=st.lists(NUMBERS, min_size=SIZE, max_size=SIZE),
    steps=st.lists(st.tuples(CHANGES, st.booleans())),
)
def test_changed_numbers_are_those_of_a_changed_copy(first, steps):
    found, wanted = Patched.of(np.array(first)), list(first)
    for changes, looked_at in steps:
        before, was = found, list(wanted)
        found = change(found, changes)
        for place, number in changes.items():
            wanted[place] = number
        places = np.array([[3, 3], [19, 0]])
        assert found.take(places).tolist() == [[wanted[3], wanted[3]], [wanted[19], wanted[0]]]
        if looked_at:
            assert found.whole().tolist() == wanted
        assert before.whole().tolist() == was
    assert found.whole().tolist() == wanted


def test_more_numbers_come_at_the_end():
    old = change(Patched.of(np.array([1, 2])), {1: 5})

    assert old.grown(4, -1).whole().tolist() == [1, 5, -1, -1]
    assert old.whole().tolist() == [1, 5]


def test_a_change_copies_nothing_long():
    long = Patched.of(np.arange(100_000))

    assert change(long, {7: 1})._base is long._base


@pytest.mark.parametrize("number", [1 << 31, -(1 << 31) - 1])
def test_numbers_without_room_in_32_bits_keep_64(number):
    assert narrow(np.array([number])).tolist() == [number]
