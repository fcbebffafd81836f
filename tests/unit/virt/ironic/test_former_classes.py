"""Machines that were once reported as processors, memory and disk (compute.md §6.10)."""

import pytest

from compute import exceptions
from tests.unit.virt.conftest import ROOT_UUID
from tests.unit.virt.consumers import body, resources, uuid
from virt.inventory import record
from virt.ironic import IronicDriver
from virt.ironic.node import IronicNode
from virt.virtapi import NoopVirtAPI

FORMER = {"VCPU": record(8), "MEMORY_MB": record(4096), "DISK_GB": record(100)}
HELD = {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 100}
GOLD = "CUSTOM_GOLD"
INSTANCE, ELSEWHERE = uuid(1), uuid(9)


@pytest.fixture
def update(make_conf, tree):
    """Update the provider of a machine, by default one in use, that had the former classes."""

    def update_tree(allocations=None, instance=INSTANCE, now=FORMER):
        class Machines:
            def nodes(self):
                return [IronicNode(ROOT_UUID, resource_class="gold", instance_uuid=instance)]

        driver = IronicDriver(NoopVirtAPI(), make_conf(), Machines())
        driver.init_host("host1")
        tree.update_inventory(ROOT_UUID, now)
        driver.update_provider_tree(tree, ROOT_UUID, allocations)
        return tree.data(ROOT_UUID).inventory

    return update_tree


def test_of_a_machine_in_use_they_go_in_a_reshape(update, tree):
    with pytest.raises(exceptions.ReshapeNeeded):
        update()

    assert tree.data(ROOT_UUID).inventory == FORMER


def test_of_a_machine_that_nobody_has_they_just_go(update):
    assert update(instance=None) == {GOLD: record(1)}


def test_who_held_them_has_the_machine(update):
    allocations = {
        uuid(1): body({ROOT_UUID: HELD, ELSEWHERE: {"IPV4_ADDRESS": 1}}),
        uuid(2): body({ELSEWHERE: {"VCPU": 2}}),
    }

    update(allocations)

    assert resources(allocations) == {
        uuid(1): {ROOT_UUID: {GOLD: 1}, ELSEWHERE: {"IPV4_ADDRESS": 1}},
        uuid(2): {ELSEWHERE: {"VCPU": 2}},
    }


def test_what_is_reserved_takes_nobody_so_it_is_reserved_with_the_next_update(update):
    inventory = update({uuid(1): body({ROOT_UUID: HELD})})

    assert (inventory, update(now=inventory)) == ({GOLD: record(1)}, {GOLD: record(1, reserved=1)})


def test_who_has_the_machine_already_only_loses_them(update):
    allocations = {uuid(1): body({ROOT_UUID: {**HELD, GOLD: 1}})}

    inventory = update(allocations)

    assert resources(allocations) == {uuid(1): {ROOT_UUID: {GOLD: 1}}}
    assert inventory == {GOLD: record(1, reserved=1)}


def test_without_anybody_holding_them_it_is_an_update_like_any_other(update):
    assert update({}) == {GOLD: record(1, reserved=1)}


def test_two_consumers_can_not_have_one_machine(update):
    allocations = {uuid(n): body({ROOT_UUID: {"VCPU": 2}}) for n in (1, 2)}

    with pytest.raises(exceptions.ReshapeFailed, match=f"{uuid(1)}, {uuid(2)}"):
        update(allocations)

    assert resources(allocations) == {uuid(n): {ROOT_UUID: {"VCPU": 2}} for n in (1, 2)}
