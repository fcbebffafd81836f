from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute.provider_tree.stock import Stock, spread

SMALL_STOCKS = st.lists(
    st.builds(
        Stock,
        capacity=st.integers(-2, 9),
        min_unit=st.integers(1, 4),
        max_unit=st.integers(1, 9),
        step_size=st.just(1),
        used=st.integers(0, 4),
    ),
    min_size=1,
    max_size=3,
)


def test_capacity_is_what_placement_computes():
    record = {"total": 10, "reserved": 3, "allocation_ratio": 1.5}

    assert Stock.of(record).capacity == 10


def test_absent_fields_have_placements_defaults():
    assert Stock.of({"total": 10}) == Stock(10, min_unit=1, max_unit=2**31 - 1, step_size=1)


@pytest.mark.parametrize(
    ("amount", "already_held", "fits"),
    [(4, 0, True), (6, 0, True), (8, 0, False), (2, 0, False), (5, 0, False), (2, 2, True)],
)
def test_room_respects_units_with_what_is_held_already(amount, already_held, fits):
    stock = Stock(capacity=20, min_unit=4, max_unit=6, step_size=2)

    assert stock.has_room_for(amount, already_held) is fits


def test_room_ends_where_the_capacity_is_used_up():
    stock = Stock(capacity=10, min_unit=1, max_unit=10, step_size=1, used=7)

    assert (stock.has_room_for(3), stock.has_room_for(4)) == (True, False)


def test_spreading_fills_the_earlier_first():
    stocks = [Stock(8, 1, 8, 1), Stock(8, 1, 8, 1)]

    assert spread(10, stocks) == [8, 2]


def test_spreading_takes_less_so_that_the_rest_reaches_min_unit():
    stocks = [Stock(8, 4, 8, 1), Stock(8, 4, 8, 1)]

    assert spread(10, stocks) == [6, 4]


def test_spreading_respects_the_step_size():
    stocks = [Stock(7, 1, 7, 4), Stock(9, 1, 9, 4)]

    assert (spread(12, stocks), spread(10, stocks)) == ([4, 8], None)


def test_spreading_over_nothing_is_impossible():
    assert spread(1, []) is None


@given(st.integers(1, 20), SMALL_STOCKS)
def test_spreading_finds_the_division_trying_them_all_finds(amount, stocks):
    choices = [
        [part for part in range(amount, -1, -1) if part == 0 or stock.has_room_for(part)]
        for stock in stocks
    ]
    # Parts are tried from the largest down, for the first stock first.
    expected = next((list(p) for p in product(*choices) if sum(p) == amount), None)

    assert spread(amount, stocks) == expected
