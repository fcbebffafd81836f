"""The verdict of a rehearsal: what placement would refuse."""

import pytest

from compute.maintenance.migrate.reshape_check import misfits, used_after
from compute.maintenance.provider_details import ProviderDetails


def provider(used, **record):
    """Make a provider with VCPU, of which so much is used."""
    inventory = {"VCPU": {"total": 10, **record}}
    return ProviderDetails("u", "cell", None, 1, inventory, [], [], used)


def holding(**held):
    return {"c": {"allocations": {"u": {"resources": held}}}}


def test_what_fits_is_not_told():
    assert misfits([provider({"VCPU": 10})], [], holding(VCPU=10)) == []


@pytest.mark.parametrize(
    ("used", "record", "room"),
    [(11, {}, 10), (9, {"reserved": 2}, 8), (21, {"allocation_ratio": 2.0}, 20)],
)
def test_more_than_there_is_room_for(used, record, room):
    assert misfits([provider({"VCPU": used}, **record)], [], {}) == [
        f"cell has room for {room} VCPU, of which {used} would be in use"
    ]


def test_a_class_that_is_gone_while_somebody_holds_it():
    assert misfits([provider({"VGPU": 1})], [], {}) == [
        "cell has no VGPU any more, of which 1 are in use"
    ]


def test_a_provider_that_is_removed_while_somebody_holds_something_of_it():
    assert misfits([], [provider({"VCPU": 1})], {}) == [
        "cell is to be removed while 1 VCPU of it are in use"
    ]


@pytest.mark.parametrize(
    ("amount", "record", "says"),
    [
        (4, {"max_unit": 3}, "gives 1 to 3 VCPU to one consumer, and c would hold 4"),
        (1, {"min_unit": 2}, "gives 2 to 2147483647 VCPU to one consumer, and c would hold 1"),
        (3, {"step_size": 2}, "gives VCPU in steps of 2, and c would hold 3"),
    ],
)
def test_an_amount_nobody_may_hold(amount, record, says):
    found = misfits([provider({"VCPU": amount}, **record)], [], holding(VCPU=amount))
    assert found == [f"cell {says}"]


def test_use_afterwards_counts_others_too():
    before = {"c": {"allocations": {"a": {"resources": {"VCPU": 2}}}}}
    after = {"c": {"allocations": {"b": {"resources": {"VCPU": 2}}}}}
    used = used_after({"a": {"VCPU": 5}, "b": {"VCPU": 1}}, before, after)
    assert (used["a"]["VCPU"], used["b"]["VCPU"]) == (3, 3)
