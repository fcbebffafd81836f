"""Rooms of contested classes: the least room that is as good for a request."""

import itertools

import numpy as np

from placement.candidates.masks.filter import RequestPart, contested

VCPU, MEMORY = 1, 2
NOBODY = np.zeros(0, np.bool_)


def parts(*asked):
    """Return parts: (suffix, amount of VCPU), several."""
    return [RequestPart(suffix, ((VCPU, amount),), NOBODY, NOBODY) for suffix, amount in asked]


def rounded(rooms, *asked):
    """Return the rooms that are as good."""
    found = contested(parts(*asked))[VCPU]
    return found.rounded(np.array(rooms, np.int64)).tolist()


def test_a_class_that_one_part_asks_for_is_not_contested():
    other = RequestPart("_B", ((MEMORY, 1),), NOBODY, NOBODY)
    assert contested([*parts(("_A", 1)), other]) == {}


def test_rooms_between_two_sums_are_as_good_as_the_lower_one():
    asked = [("", 3), ("_A", 4), ("_B", 4)]
    assert rounded([-7, 0, 2, 3, 4, 6, 7, 9, 10, 11, 99], *asked) == [
        *(0, 0, 0, 3, 4, 4, 7, 8, 8, 11, 11)
    ]


def test_rooms_are_taken_as_they_are_where_each_amount_is_a_sum():
    assert rounded([-3, 0, 1, 2, 3, 4], ("_A", 1), ("_B", 1), ("_C", 1)) == [
        0,
        0,
        1,
        2,
        3,
        3,
    ]


def test_of_many_unlike_amounts_rooms_are_cut_at_all_of_them():
    asked = [(f"_{number}", 1 << number) for number in range(80)]
    most = sum(amount for _, amount in asked)
    assert most > 1 << 40
    assert rounded([-1, 5, 1 << 50], *asked) == [0, 5, 1 << 40]


def test_whatever_fits_into_a_room_fits_into_the_least_one_that_is_as_good():
    amounts = [2, 3, 3, 7]
    asked = [(f"_{number}", amount) for number, amount in enumerate(amounts)]
    sums = {sum(some) for size in range(5) for some in itertools.combinations(amounts, size)}
    for room in range(20):
        (least,) = rounded([room], *asked)
        assert {one for one in sums if one <= room} == {one for one in sums if one <= least}
