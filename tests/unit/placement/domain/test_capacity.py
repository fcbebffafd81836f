"""Capacity, and the amounts that fit into it (rest-api.md 4.1, 4.3, 3.3)."""

import math

import pytest

from placement.domain.capacity import Inventory, NoRoom, OutsideUnits, offers_nothing, why_not


def test_capacity_is_not_rounded():
    assert Inventory(total=3, reserved=2, allocation_ratio=1.5).capacity == 1.5


def test_an_amount_up_to_the_unrounded_capacity_fits():
    inventory = Inventory(total=1, allocation_ratio=1.5)
    assert why_not(inventory, used=0, asked=1) is None


def test_an_amount_above_the_unrounded_capacity_does_not_fit():
    inventory = Inventory(total=1, allocation_ratio=1.5)
    assert why_not(inventory, used=0, asked=2) == NoRoom(2, free=1.5)


def test_usage_of_others_counts():
    assert why_not(Inventory(total=4), used=3, asked=2) == NoRoom(2, free=1)


def test_earlier_entries_of_the_request_count():
    assert why_not(Inventory(total=4), used=1, asked=2, asked_before=2) == NoRoom(2, free=1)


@pytest.mark.parametrize("asked", [1, 9, 5])
def test_an_amount_outside_the_units_is_rejected(asked):
    inventory = Inventory(total=100, min_unit=2, max_unit=8, step_size=2)
    assert why_not(inventory, used=0, asked=asked) == OutsideUnits(asked)


@pytest.mark.parametrize("asked", [2, 4, 8])
def test_an_amount_inside_the_units_is_accepted(asked):
    inventory = Inventory(total=100, min_unit=2, max_unit=8, step_size=2)
    assert why_not(inventory, used=0, asked=asked) is None


def test_units_are_checked_before_capacity():
    assert why_not(Inventory(total=1, max_unit=1), used=1, asked=2) == OutsideUnits(2)


def test_a_usage_above_the_capacity_may_stay():
    inventory = Inventory(total=4)
    assert why_not(inventory, used=2, asked=4, used_until_now=6) is None


def test_a_usage_above_the_capacity_may_not_grow():
    inventory = Inventory(total=4)
    assert why_not(inventory, used=2, asked=5, used_until_now=6) == NoRoom(5, free=2)


def test_a_usage_above_the_capacity_may_stay_in_several_entries_of_a_request():
    inventory = Inventory(total=4)
    assert why_not(inventory, 2, asked=2, asked_before=2, used_until_now=6) is None


def test_a_usage_above_the_capacity_may_not_grow_by_further_entries():
    inventory = Inventory(total=4)
    assert why_not(inventory, 2, asked=3, asked_before=2, used_until_now=6) == NoRoom(3, free=0)


def test_without_the_usage_before_no_usage_above_the_capacity_is_accepted():
    assert why_not(Inventory(total=4), used=0, asked=5) == NoRoom(5, free=4)


@pytest.mark.parametrize(
    ("total", "reserved", "ratio", "before_1_26", "since_1_26"),
    [
        (4, 0, 1.0, False, False),
        (4, 4, 1.0, True, False),
        (4, 5, 1.0, True, True),
        (4, 0, 0.1, True, False),
        (4, 0, 0.25, False, False),
        (4, 0, -0.1, True, False),
        (4, 0, -0.25, True, True),
        (4, 0, -1e308, True, True),
        (4, 0, 3.4e38, False, False),
    ],
)
def test_the_check_for_too_little_capacity_ignores_the_fraction(
    total, reserved, ratio, before_1_26, since_1_26
):
    inventory = Inventory(total=total, reserved=reserved, allocation_ratio=ratio)
    judged = (offers_nothing(inventory, False), offers_nothing(inventory, True))
    assert judged == (before_1_26, since_1_26)


def test_the_check_for_too_little_capacity_equals_one_of_the_truncated_capacity():
    for tenths in range(-30, 31):
        inventory = Inventory(total=1, allocation_ratio=tenths / 10)
        truncated = math.trunc(inventory.capacity)
        judged = (offers_nothing(inventory, False), offers_nothing(inventory, True))
        assert judged == (truncated <= 0, truncated < 0)


def test_row_times_do_not_make_inventories_different():
    assert Inventory(total=1, modified=None) == Inventory(total=1, modified="now")
