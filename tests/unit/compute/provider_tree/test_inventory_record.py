"""Inventory records: defaults of placement, and capacity (rest-api.md 3.3)."""

import pytest

from compute.provider_tree.inventory_record import DEFAULTS, LARGEST, capacity, completed


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
