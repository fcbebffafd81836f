"""The root's inventory for drivers that don't edit provider trees (compute.md §4.6)."""

import pytest

from compute import config
from compute.records.compute_node import ComputeNode
from compute.resource_tracker.node.root_inventory import completed, from_record


@pytest.fixture
def conf():
    overrides = {
        (None, "reserved_host_cpus"): 1,
        (None, "reserved_host_memory_mb"): 64,
        (None, "reserved_host_disk_mb"): 2048,
    }
    return config.load(files=[], environ={}, overrides=overrides)


def node(**fields):
    return ComputeNode("u", "h", "n", **fields)


def test_each_total_of_a_record_is_an_inventory_also_of_one(conf):
    found = from_record(node(vcpus=1, memory_mb=512, local_gb=10), conf)

    assert {name: record["total"] for name, record in found.items()} == {
        "VCPU": 1,
        "MEMORY_MB": 512,
        "DISK_GB": 10,
    }
    assert {name: record["max_unit"] for name, record in found.items()} == {
        "VCPU": 1,
        "MEMORY_MB": 512,
        "DISK_GB": 10,
    }


def test_of_what_there_is_none_there_is_no_inventory(conf):
    assert set(from_record(node(vcpus=2), conf)) == {"VCPU"}


def test_reserved_amounts_and_ratios_complete_what_a_driver_says(conf):
    kept = node(cpu_allocation_ratio=4.0)
    said = {
        "VCPU": {"total": 2},
        "MEMORY_MB": {"total": 9, "reserved": 3},
        "CUSTOM_A": {"total": 1},
    }

    assert completed(said, kept, conf) == {
        "VCPU": {"total": 2, "allocation_ratio": 4.0, "reserved": 1},
        "MEMORY_MB": {"total": 9, "allocation_ratio": 1.0, "reserved": 3},
        "CUSTOM_A": {"total": 1},
    }
    assert completed({"DISK_GB": {"total": 50}}, kept, conf)["DISK_GB"]["reserved"] == 2
