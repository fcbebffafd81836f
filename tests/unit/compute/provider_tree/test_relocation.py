import copy

import pytest

from compute import exceptions
from compute.provider_tree.relocation import Target, relocate
from tests.unit.virt.consumers import body, resources, uuid
from virt.inventory import record

ROOT, CELL0, CELL1, ELSEWHERE = "root", "cell0", "cell1", "another-host"
CPU_AND_MEMORY = ("VCPU", "MEMORY_MB")
ALL_OFF_ROOT = {ROOT: CPU_AND_MEMORY}


def cells(vcpus=8, memory_mb=1000, **overrides):
    inventory = {
        "VCPU": record(vcpus) | overrides,
        "MEMORY_MB": record(memory_mb),
    }
    return [Target(CELL0, "numa0", inventory), Target(CELL1, "numa1", inventory)]


def test_a_guest_goes_whole_to_the_first_target_with_room_for_both():
    allocations = {
        uuid(1): body({ROOT: {"VCPU": 6, "MEMORY_MB": 100}}),
        uuid(2): body({ROOT: {"VCPU": 4, "MEMORY_MB": 100}}),
        uuid(4): body({ROOT: {"VCPU": 2, "MEMORY_MB": 800}}),
    }

    relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY)

    assert resources(allocations) == {
        uuid(1): {CELL0: {"VCPU": 6, "MEMORY_MB": 100}},
        uuid(2): {CELL1: {"VCPU": 4, "MEMORY_MB": 100}},
        uuid(4): {CELL0: {"VCPU": 2, "MEMORY_MB": 800}},
    }


def test_a_guest_that_fits_nowhere_whole_is_spread_class_by_class():
    allocations = {uuid(1): body({ROOT: {"VCPU": 10, "MEMORY_MB": 1500}})}

    relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY)

    assert resources(allocations)[uuid(1)] == {
        CELL0: {"VCPU": 8, "MEMORY_MB": 1000},
        CELL1: {"VCPU": 2, "MEMORY_MB": 500},
    }


def test_allocation_ratio_and_reserved_make_the_room():
    allocations = {uuid(1): body({ROOT: {"VCPU": 8}}), uuid(2): body({ROOT: {"VCPU": 4}})}
    targets = cells(reserved=2, allocation_ratio=2.0)

    relocate(allocations, ALL_OFF_ROOT, targets, CPU_AND_MEMORY)

    assert resources(allocations) == {uuid(1): {CELL0: {"VCPU": 8}}, uuid(2): {CELL0: {"VCPU": 4}}}


def test_what_other_consumers_hold_of_the_targets_counts():
    allocations = {uuid(1): body({ROOT: {"VCPU": 4}}), uuid(2): body({CELL0: {"VCPU": 6}})}

    relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY)

    assert resources(allocations) == {uuid(1): {CELL1: {"VCPU": 4}}, uuid(2): {CELL0: {"VCPU": 6}}}


def test_consumers_are_placed_in_the_order_of_their_uuids():
    first, second = sorted([uuid(7), uuid(3)])
    allocations = {second: body({ROOT: {"VCPU": 6}}), first: body({ROOT: {"VCPU": 5}})}

    relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY)

    assert resources(allocations) == {first: {CELL0: {"VCPU": 5}}, second: {CELL1: {"VCPU": 6}}}


def test_only_records_of_the_given_providers_and_classes_change():
    allocations = {
        uuid(1): body({ROOT: {"VCPU": 2, "DISK_GB": 5}, ELSEWHERE: {"VCPU": 2}}, generation=7),
        uuid(2): body({ELSEWHERE: {"VCPU": 3}}),
    }
    untouched = copy.deepcopy(allocations[uuid(2)])

    relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY)

    assert allocations[uuid(1)] == body({}, generation=7) | {
        "allocations": {
            ROOT: {"generation": 5, "resources": {"DISK_GB": 5}},
            ELSEWHERE: {"generation": 5, "resources": {"VCPU": 2}},
            CELL0: {"resources": {"VCPU": 2}},
        }
    }
    assert allocations[uuid(2)] == untouched


def test_a_provider_left_without_resources_leaves_the_record():
    allocations = {uuid(1): body({ROOT: {"VCPU": 2}})}

    relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY)

    assert ROOT not in allocations[uuid(1)]["allocations"]


def test_amounts_of_one_class_from_several_providers_come_together():
    allocations = {uuid(1): body({CELL0: {"VCPU": 2}, CELL1: {"VCPU": 3}})}
    root = Target(ROOT, "host1", {"VCPU": record(16)})

    relocate(allocations, {CELL0: CPU_AND_MEMORY, CELL1: CPU_AND_MEMORY}, [root])

    assert resources(allocations)[uuid(1)] == {ROOT: {"VCPU": 5}}


def test_a_guest_whose_place_is_known_goes_there():
    allocations = {uuid(1): body({ROOT: {"VCPU": 4, "MEMORY_MB": 300}})}
    place = {CELL0: {"VCPU": 1, "MEMORY_MB": 100}, CELL1: {"VCPU": 3, "MEMORY_MB": 200}}

    relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY, lambda consumer: place)

    assert resources(allocations)[uuid(1)] == place


def test_known_guests_are_placed_before_floating_ones_take_their_room():
    allocations = {uuid(1): body({ROOT: {"VCPU": 5}}), uuid(2): body({ROOT: {"VCPU": 6}})}
    places = {uuid(2): {CELL0: {"VCPU": 6}}}

    relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY, places.get)

    assert resources(allocations) == {uuid(1): {CELL1: {"VCPU": 5}}, uuid(2): {CELL0: {"VCPU": 6}}}


def test_classes_a_known_place_does_not_mention_float():
    allocations = {uuid(1): body({ROOT: {"VCPU": 4, "MEMORY_MB": 300}})}

    relocate(
        allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY, lambda consumer: {CELL1: {"VCPU": 4}}
    )

    assert resources(allocations)[uuid(1)] == {CELL1: {"VCPU": 4}, CELL0: {"MEMORY_MB": 300}}


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ({CELL0: {"VCPU": 3}}, "holds 4 VCPU but the host has it with 3"),
        ({CELL0: {"VCPU": 4}, CELL1: {"VCPU": 1}}, "holds 4 VCPU but the host has it with 5"),
        ({"nowhere": {"VCPU": 4}}, "no room for 4 VCPU .*no provider has any"),
    ],
)
def test_a_known_place_that_does_not_add_up_fails_the_reshape(place, reason):
    allocations = {uuid(1): body({ROOT: {"VCPU": 4}})}

    with pytest.raises(exceptions.ReshapeFailed, match=reason):
        relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY, lambda consumer: place)


def test_no_room_fails_the_reshape_naming_consumer_amount_and_what_is_free():
    allocations = {uuid(1): body({ROOT: {"VCPU": 17}})}

    with pytest.raises(exceptions.ReshapeFailed) as caught:
        relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY)

    assert (
        f"no room for 17 VCPU of consumer {uuid(1)} (free: numa0 8, numa1 8; at most 8 each)"
        in str(caught.value)
    )


def test_a_guest_too_large_for_every_cells_max_unit_fails_the_reshape_saying_so():
    allocations = {uuid(1): body({ROOT: {"VCPU": 9}})}

    with pytest.raises(exceptions.ReshapeFailed, match="numa0 16, numa1 16; at most 4 each"):
        relocate(allocations, ALL_OFF_ROOT, cells(allocation_ratio=2.0, max_unit=4), CPU_AND_MEMORY)


def test_a_failed_reshape_leaves_the_allocations_as_they_were():
    allocations = {uuid(n): body({ROOT: {"VCPU": 6}}) for n in range(1, 5)}
    before = copy.deepcopy(allocations)

    with pytest.raises(exceptions.ReshapeFailed):
        relocate(allocations, ALL_OFF_ROOT, cells(), CPU_AND_MEMORY)

    assert allocations == before
