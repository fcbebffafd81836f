"""The ratios of the compute node record and of inventories derived from it (compute.md §4.4)."""

import pytest

from compute import config
from compute.records.compute_node import ComputeNode
from compute.resource_tracker.node import root_inventory
from compute.resource_tracker.node.configured_amounts import apply_ratios


@pytest.fixture
def node():
    return ComputeNode(uuid="u", host="host1", hypervisor_hostname="host1")


def conf_with(**options):
    overrides = {(None, name): value for name, value in options.items()}
    return config.load(files=[], environ={}, overrides=overrides)


def ratios(node):
    return (node.cpu_allocation_ratio, node.ram_allocation_ratio, node.disk_allocation_ratio)


def test_a_new_record_has_the_initial_ratios(node):
    apply_ratios(node, conf_with(cpu_allocation_ratio=2.0), initial=True)
    assert ratios(node) == (4.0, 1.0, 1.0)


def test_a_configured_ratio_replaces_that_of_a_known_record(node):
    node.cpu_allocation_ratio = 4.0
    apply_ratios(node, conf_with(cpu_allocation_ratio=2.0))
    assert node.cpu_allocation_ratio == 2.0


@pytest.mark.parametrize("unset", [None, 0.0])
def test_an_unset_ratio_leaves_a_known_record_as_it_is(node, unset):
    node.cpu_allocation_ratio = 3.0
    apply_ratios(node, conf_with(cpu_allocation_ratio=unset))
    assert ratios(node) == (3.0, None, None)


def test_the_inventory_of_a_record_has_only_what_the_node_has(node):
    node.vcpus, node.memory_mb, node.local_gb = 8, 4096, 0
    node.cpu_allocation_ratio = 16.0
    assert root_inventory.from_record(node, conf_with(reserved_host_cpus=1)) == {
        "VCPU": {
            "total": 8,
            "reserved": 1,
            "min_unit": 1,
            "max_unit": 8,
            "step_size": 1,
            "allocation_ratio": 16.0,
        },
        "MEMORY_MB": {
            "total": 4096,
            "reserved": 512,
            "min_unit": 1,
            "max_unit": 4096,
            "step_size": 1,
            "allocation_ratio": 1.0,
        },
    }


def test_reserved_disk_is_rounded_up_to_whole_gigabytes(node):
    told = {"DISK_GB": {"total": 100}}
    completed = root_inventory.completed(told, node, conf_with(reserved_host_disk_mb=1025))
    assert completed["DISK_GB"]["reserved"] == 2


def test_what_a_driver_says_of_ratio_and_reserved_stands(node):
    told = {"VCPU": {"total": 8, "allocation_ratio": 1.5, "reserved": 3}, "CUSTOM_X": {"total": 1}}
    conf = conf_with(cpu_allocation_ratio=9.0, reserved_host_cpus=9)
    assert root_inventory.completed(told, node, conf) == told
