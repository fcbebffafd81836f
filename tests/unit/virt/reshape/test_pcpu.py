import copy

import pytest

from compute.exceptions import ReshapeFailed
from tests.unit.virt.consumers import body, resources, uuid
from virt.inventory import record
from virt.reshape.pcpu import dedicate

ROOT, CELL, ELSEWHERE = uuid(100), uuid(101), uuid(102)


def test_vcpu_of_pinned_consumers_becomes_pcpu_where_they_have_none_yet():
    allocations = {
        uuid(1): body({ROOT: {"VCPU": 2, "DISK_GB": 1}, ELSEWHERE: {"VCPU": 2}}),
        uuid(2): body({ROOT: {"VCPU": 1, "PCPU": 1}}),
        uuid(3): body({ROOT: {"VCPU": 4}}),
    }
    dedicate(allocations, [ROOT], {uuid(1), uuid(2)}.__contains__, {ROOT: record(4)})
    assert resources(allocations) == {
        uuid(1): {ROOT: {"DISK_GB": 1, "PCPU": 2}, ELSEWHERE: {"VCPU": 2}},
        uuid(2): {ROOT: {"VCPU": 1, "PCPU": 1}},
        uuid(3): {ROOT: {"VCPU": 4}},
    }


@pytest.mark.parametrize(
    "inventories",
    [{ROOT: record(2)}, {CELL: record(3), ROOT: record(2)}, {"a cell to be": record(2)}, {}],
)
def test_more_than_there_is_fails_and_changes_nothing(inventories):
    allocations = {uuid(n): body({ROOT: {"VCPU": n}}) for n in (1, 2)}
    before = copy.deepcopy(allocations)
    with pytest.raises(
        ReshapeFailed, match=f"3 PCPU.*there are {2 if inventories else 0}.*{uuid(2)}"
    ):
        dedicate(allocations, [ROOT], lambda consumer: True, inventories)
    assert allocations == before
