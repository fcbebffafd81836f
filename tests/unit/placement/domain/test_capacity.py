"""Capacity, and the amounts that fit into it (rest-api.md 4.1 to 4.3, 3.3)."""

import math

import pytest

from placement.domain.capacity import (
    Entry,
    Inventory,
    SlotUsage,
    check,
    offers_nothing,
    why_not,
)
from placement.errors import CapacityExceeded, ConstraintViolated, InvalidInventory

ROOT, CHILD, OTHER = 1, 2, 3
VCPU, DISK = 0, 2
CLASSES = {VCPU: "VCPU", DISK: "DISK_GB"}
UUIDS = {ROOT: "root", CHILD: "child", OTHER: "other"}


def test_capacity_is_not_rounded():
    assert Inventory(total=3, reserved=2, allocation_ratio=1.5).capacity == 1.5


def test_an_amount_up_to_the_unrounded_capacity_fits():
    inventory = Inventory(total=1, allocation_ratio=1.5)
    assert why_not(inventory, used=0, asked=1) is None


def test_an_amount_above_the_unrounded_capacity_does_not_fit():
    inventory = Inventory(total=1, allocation_ratio=1.5)
    assert why_not(inventory, used=0, asked=2) is CapacityExceeded


def test_usage_of_others_counts():
    assert why_not(Inventory(total=4), used=3, asked=2) is CapacityExceeded


def test_earlier_entries_of_the_request_count():
    assert why_not(Inventory(total=4), used=1, asked=2, asked_before=2) is CapacityExceeded


@pytest.mark.parametrize("asked", [1, 9, 5])
def test_an_amount_outside_the_units_is_rejected(asked):
    inventory = Inventory(total=100, min_unit=2, max_unit=8, step_size=2)
    assert why_not(inventory, used=0, asked=asked) is ConstraintViolated


@pytest.mark.parametrize("asked", [2, 4, 8])
def test_an_amount_inside_the_units_is_accepted(asked):
    inventory = Inventory(total=100, min_unit=2, max_unit=8, step_size=2)
    assert why_not(inventory, used=0, asked=asked) is None


def test_units_are_checked_before_capacity():
    assert why_not(Inventory(total=1, max_unit=1), used=1, asked=2) is ConstraintViolated


def test_a_usage_above_the_capacity_may_stay():
    inventory = Inventory(total=4)
    assert why_not(inventory, used=2, asked=4, used_until_now=6) is None


def test_a_usage_above_the_capacity_may_not_grow():
    inventory = Inventory(total=4)
    assert why_not(inventory, used=2, asked=5, used_until_now=6) is CapacityExceeded


def test_a_usage_above_the_capacity_may_stay_in_several_entries_of_a_request():
    inventory = Inventory(total=4)
    assert why_not(inventory, 2, asked=2, asked_before=2, used_until_now=6) is None


def test_a_usage_above_the_capacity_may_not_grow_by_further_entries():
    inventory = Inventory(total=4)
    assert why_not(inventory, 2, asked=3, asked_before=2, used_until_now=6) is CapacityExceeded


def test_without_the_usage_before_no_usage_above_the_capacity_is_accepted():
    assert why_not(Inventory(total=4), used=0, asked=5) is CapacityExceeded


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


def judge(entries, inventories, usages=()):
    check(entries, inventories, dict(usages), CLASSES, UUIDS)


def refusal(kind, *arguments):
    with pytest.raises(kind) as refused:
        judge(*arguments)
    return refused.value.message


def test_entries_that_fit_pass():
    entries = [Entry("a", ROOT, VCPU, 2), Entry("b", ROOT, VCPU, 2)]
    judge(entries, {(ROOT, VCPU): Inventory(total=4)})


def test_no_entries_always_fit():
    judge([], {})


def test_a_slot_without_inventory_is_invalid():
    entries = [Entry("a", ROOT, VCPU, 1), Entry("a", ROOT, DISK, 1)]
    message = refusal(InvalidInventory, entries, {(ROOT, VCPU): Inventory(total=4)})
    assert message == "Inventory for 'DISK_GB' on resource provider 'root' invalid."


def test_providers_with_none_of_the_classes_are_named_together_with_all_classes():
    entries = [
        Entry("a", ROOT, VCPU, 1),
        Entry("a", CHILD, DISK, 1),
        Entry("a", OTHER, VCPU, 1),
    ]
    message = refusal(InvalidInventory, entries, {(ROOT, VCPU): Inventory(total=4)})
    assert message == "Inventory for 'VCPU, DISK_GB' on resource provider 'child, other' invalid."


def test_a_provider_without_inventory_is_reported_before_an_amount_that_does_not_fit():
    entries = [Entry("a", ROOT, VCPU, 99), Entry("a", CHILD, VCPU, 1)]
    refusal(InvalidInventory, entries, {(ROOT, VCPU): Inventory(total=4)})


def test_the_first_entry_that_does_not_fit_is_reported():
    entries = [Entry("a", ROOT, DISK, 9), Entry("a", ROOT, VCPU, 9)]
    stock = {(ROOT, VCPU): Inventory(total=4), (ROOT, DISK): Inventory(total=4)}
    assert "'DISK_GB'" in refusal(CapacityExceeded, entries, stock)


def test_violations_of_units_and_steps_are_reported_as_constraints():
    message = refusal(
        ConstraintViolated, [Entry("a", ROOT, VCPU, 3)], {(ROOT, VCPU): Inventory(9, step_size=2)}
    )
    assert message == (
        "Unable to create allocation for 'VCPU' on resource provider 'root'. "
        "The requested amount would violate inventory constraints."
    )


def test_entries_of_different_consumers_share_one_capacity():
    entries = [Entry("a", ROOT, VCPU, 2), Entry("b", ROOT, VCPU, 3)]
    message = refusal(CapacityExceeded, entries, {(ROOT, VCPU): Inventory(total=4)})
    assert message == (
        "Unable to create allocation for 'VCPU' on resource provider 'root'. "
        "The requested amount would exceed the capacity."
    )


def test_the_same_class_of_another_provider_has_its_own_capacity():
    entries = [Entry("a", ROOT, VCPU, 4), Entry("a", CHILD, VCPU, 4)]
    judge(entries, {(ROOT, VCPU): Inventory(total=4), (CHILD, VCPU): Inventory(total=4)})


def test_allocations_of_consumers_outside_the_request_count():
    usages = {(ROOT, VCPU): SlotUsage(until_now=3, by_others=3)}
    refusal(
        CapacityExceeded, [Entry("a", ROOT, VCPU, 2)], {(ROOT, VCPU): Inventory(total=4)}, usages
    )


def test_allocations_that_the_request_replaces_do_not_count():
    usages = {(ROOT, VCPU): SlotUsage(until_now=4, by_others=0)}
    judge([Entry("a", ROOT, VCPU, 4)], {(ROOT, VCPU): Inventory(total=4)}, usages)


@pytest.mark.parametrize("amount", [3, 4])
def test_an_overcommitted_consumer_may_keep_or_lower_its_amount(amount):
    usages = {(ROOT, VCPU): SlotUsage(until_now=8, by_others=4)}
    judge([Entry("a", ROOT, VCPU, amount)], {(ROOT, VCPU): Inventory(total=2)}, usages)


def test_an_overcommitted_consumer_may_not_grow():
    usages = {(ROOT, VCPU): SlotUsage(until_now=8, by_others=4)}
    stock = {(ROOT, VCPU): Inventory(total=2)}
    refusal(CapacityExceeded, [Entry("a", ROOT, VCPU, 5)], stock, usages)


def test_an_overcommitted_amount_may_move_between_consumers():
    usages = {(ROOT, VCPU): SlotUsage(until_now=8, by_others=4)}
    entries = [Entry("a", ROOT, VCPU, 0), Entry("b", ROOT, VCPU, 4)]
    judge(entries, {(ROOT, VCPU): Inventory(total=2)}, usages)


def test_units_apply_to_an_overcommitted_amount_that_stays():
    usages = {(ROOT, VCPU): SlotUsage(until_now=8, by_others=4)}
    stock = {(ROOT, VCPU): Inventory(total=2, max_unit=2)}
    refusal(ConstraintViolated, [Entry("a", ROOT, VCPU, 4)], stock, usages)


def test_a_removed_allocation_needs_no_inventory_of_its_class():
    entries = [Entry("a", ROOT, DISK, 0), Entry("a", ROOT, VCPU, 1)]
    judge(entries, {(ROOT, VCPU): Inventory(total=4)})


def test_a_whole_float_is_an_amount():
    judge([Entry("a", ROOT, VCPU, 4.0)], {(ROOT, VCPU): Inventory(total=4)})
