"""Whether the entries of one request fit together (rest-api.md 4.2, steps 4 and 5)."""

import pytest

from placement.domain.allocation import Entry, SlotUsage, check
from placement.domain.capacity import Inventory
from placement.errors import CapacityExceeded, ConstraintViolated, InvalidInventory

ROOT, CHILD, OTHER = 1, 2, 3
VCPU, DISK = 0, 2
CLASSES = {VCPU: "VCPU", DISK: "DISK_GB"}
UUIDS = {ROOT: "root", CHILD: "child", OTHER: "other"}


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
