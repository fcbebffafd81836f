"""The shapes of hosts in histories: cells, cards, memory namespaces, pools, and their flavors."""

import json
from collections.abc import Mapping

from compute.provider_tree import Resource
from compute.records.instance import Flavor
from tests.properties.flaky_hosts import CELLS
from virt.fake import FakeDriver
from virt.inventory import record

PMEM = "CUSTOM_PMEM_NAMESPACE_6GB"
NAMESPACES = ("ns_0", "ns_1", "ns_2")
FAST = "CUSTOM_FAST"
CARD = "0000:05:00.0"

_ROOT = {"DISK_GB": 40, "MEM_ENCRYPTION_CONTEXT": 2, PMEM: len(NAMESPACES)}
_CELL = {"VCPU": 4, "PCPU": 3, "MEMORY_MB": 3072}
_GPUS = {"gpu0": {"VGPU": 1}, "gpu1": {"VGPU": 2}}
#: shape → suffix of a provider → class → total; "" is the root
SHAPES: Mapping[str, Mapping[str, Mapping[str, int]]] = {
    "flat": {"": {**_ROOT, "VCPU": 7, "PCPU": 5, "MEMORY_MB": 6144, "VGPU": 2}},
    "cells": {"": _ROOT, "numa0": _CELL, "numa1": _CELL, **_GPUS},
    "pooled": {
        "": {name: total for name, total in _ROOT.items() if name != "DISK_GB"},
        "numa0": _CELL,
        "numa1": _CELL,
        **_GPUS,
    },
}
TRAITS = {"gpu1": (FAST,)}


def _flavor(vcpus, memory_mb, disk_gb, **specs):
    named = {name.replace("__", ":", 1): text for name, text in specs.items()}
    return Flavor(vcpus, memory_mb, disk_gb, extra_specs=named)


FLAVORS = [
    _flavor(1, 512, 1),
    _flavor(3, 1536, 10),
    _flavor(2, 1024, 5, hw__cpu_policy="dedicated"),
    _flavor(3, 1024, 5, hw__cpu_policy="mixed", hw__cpu_dedicated_mask="^0"),
    _flavor(2, 512, 5, resources__PCPU="1", resources__VCPU="1"),
    _flavor(1, 512, 0, hw__pmem="6GB"),
    _flavor(2, 1024, 1, hw__pmem="6GB,6GB"),
    _flavor(1, 1024, 2, hw__mem_encryption="true"),
    _flavor(1, 512, 2, resources__VGPU="1"),
    _flavor(1, 512, 2, resources1__VGPU="1"),
]
#: only where cards tell them apart
FAST_FLAVORS = [_flavor(1, 512, 2, resources1__VGPU="1", trait1__CUSTOM_FAST="required")]


def _whole(slot, **tags):
    return {
        "address": f"0000:{slot}:00.0",
        "dev_type": "type-PCI",
        "vendor_id": "8086",
        "product_id": "1",
        "resource_class": "CUSTOM_WHOLE",
        **tags,
    }


DEVICES = [
    _whole("01"),
    _whole("02", traits="FAST"),
    _whole("03", resource_class="CUSTOM_ONCE", one_time_use="yes"),
    _whole("04", resource_class="CUSTOM_ONCE", one_time_use="yes"),
    *(
        _whole(
            "05",
            address=f"{CARD[:-1]}{number}",
            dev_type="type-VF",
            parent_addr=CARD,
            resource_class="CUSTOM_FUNCTION",
        )
        for number in (1, 2)
    ),
]
ONCE = {device["address"] for device in DEVICES if "one_time_use" in device}
DEVICE_SPECS = (
    None,
    None,
    {"resource_class": "CUSTOM_WHOLE"},
    {"resource_class": "CUSTOM_WHOLE", "traits": "FAST"},
    {"resource_class": "CUSTOM_FUNCTION"},
    {"resource_class": "CUSTOM_ONCE"},
)


def driver_of(shape, unplugged):
    """Return the driver of hosts of a shape.

    :param unplugged: (host, address) of devices that aren't there; it may be changed
    """
    layout = SHAPES[shape]

    class ShapedDriver(FakeDriver):
        vcpus, memory_mb, local_gb = 14, 6144, 40

        def get_available_resource(self, nodename):
            return super().get_available_resource(nodename) | {
                "numa_topology": json.dumps(CELLS),
                "pci_passthrough_devices": [
                    dict(one) for one in DEVICES if (nodename, one["address"]) not in unplugged
                ],
            }

        def update_provider_tree(self, provider_tree, nodename, allocations=None):
            for suffix, totals in layout.items():
                name = f"{nodename}_{suffix}" if suffix else nodename
                if not provider_tree.exists(name):
                    provider_tree.new_child(name, nodename)
                provider_tree.update_inventory(name, {c: record(n) for c, n in totals.items()})
                provider_tree.add_traits(name, *TRAITS.get(suffix, ()))
            root = provider_tree.data(nodename).uuid
            slots = {Resource(root, PMEM, name) for name in NAMESPACES}
            provider_tree.update_resources(nodename, {PMEM: slots})

    return ShapedDriver
