"""Inventory records: defaults of placement, and capacity (rest-api.md 3.3)."""

import pytest

from compute.provider_tree.inventory_record import (
    DEFAULTS,
    LARGEST,
    capacity,
    completed,
    with_reserved,
)


def test_fields_left_out_have_placements_defaults():
    assert completed({"total": 8, "reserved": 1}) == {
        "total": 8,
        "reserved": 1,
        "min_unit": 1,
        "max_unit": 2147483647,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }


def test_the_record_itself_stays_as_it_is():
    record = {"total": 8}

    completed(record)["reserved"] = 5

    assert (record, DEFAULTS["reserved"], DEFAULTS["max_unit"]) == ({"total": 8}, 0, LARGEST)


@pytest.mark.parametrize(
    ("record", "room"),
    [
        (None, 0),
        ({"total": 8}, 8),
        ({"total": 8, "reserved": 8}, 0),
        ({"total": 9, "reserved": 2, "allocation_ratio": 1.5}, 10),
        ({"total": 2, "reserved": 4}, -2),
    ],
)
def test_capacity_is_what_is_not_reserved_times_the_ratio_in_whole_numbers(record, room):
    assert capacity(record) == room


@pytest.mark.parametrize(
    ("before", "total", "reserved"),
    [
        ({}, 8, 0),
        ({"A": {"total": 8}}, 8, 0),
        ({"A": {"total": 8, "reserved": 3}}, 8, 3),
        ({"A": {"total": 8, "reserved": 3}}, 2, 2),
        ({"A": {"total": 8, "reserved": 8}}, 16, 16),
        ({"A": {"total": 8, "reserved": 9}}, 4, 4),
        ({"FORMER": {"total": 2, "reserved": 2}}, 5, 5),
        ({"FORMER": {"total": 2, "reserved": 1}, "OTHER": {"total": 9, "reserved": 3}}, 8, 3),
        ({"A": {"total": 8}, "FORMER": {"total": 2, "reserved": 2}}, 8, 0),
    ],
)
def test_of_a_device_is_reserved_what_was(before, total, reserved):
    wanted = {"A": {"total": total, "reserved": 0, "max_unit": 1}}
    expected = {"A": {"total": total, "reserved": reserved, "max_unit": 1}}
    assert with_reserved(wanted, before) == expected
