"""The shapes of hosts in histories: cells, cards, memory namespaces, pools, and their flavors."""

import json
from collections.abc import Mapping, Sequence

from compute import exceptions
from compute.provider_tree import Resource
from compute.records.instance import Flavor
from tests.properties.flaky_hosts import CELLS
from virt.fake import FakeDriver
from virt.inventory import record
from virt.reshape import numa, pcpu

PMEM = "CUSTOM_PMEM_NAMESPACE_6GB"
NAMESPACES = ("ns_0", "ns_1", "ns_2")
FAST = "CUSTOM_FAST"
CARD = "0000:05:00.0"

_CELL_CLASSES = ("VCPU", "PCPU", "MEMORY_MB")
_ROOT = {"DISK_GB": 40, "MEM_ENCRYPTION_CONTEXT": 2, PMEM: len(NAMESPACES)}
_CELL = {"VCPU": 4, "PCPU": 3, "MEMORY_MB": 3072}
_GPUS = {"gpu0": {"VGPU": 1}, "gpu1": {"VGPU": 2}}
_LARGE_CELL = {**_CELL, "PCPU": 4}
_SHARED = {**_ROOT, "VCPU": 8, "MEMORY_MB": 6144, "VGPU": 2}
#: suffix of a provider → class → total; "" is the root
Layout = Mapping[str, Mapping[str, int]]
#: shape → what an operator makes of a host, one layout after the other
SHAPES: Mapping[str, Sequence[Layout]] = {
    "flat": [{"": {**_ROOT, "VCPU": 7, "PCPU": 5, "MEMORY_MB": 6144, "VGPU": 2}}],
    "cells": [{"": _ROOT, "numa0": _CELL, "numa1": _CELL, **_GPUS}],
    "pooled": [
        {
            "": {name: total for name, total in _ROOT.items() if name != "DISK_GB"},
            "numa0": _CELL,
            "numa1": _CELL,
            **_GPUS,
        }
    ],
    # `cpu_dedicated_set` is configured, and later the driver learns of cells
    "changing": [
        {"": _SHARED},
        {"": {**_SHARED, "PCPU": 8}},
        {"": {**_ROOT, "VGPU": 2}, "numa0": _LARGE_CELL, "numa1": _LARGE_CELL},
    ],
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


def driver_of(layout_of, unplugged, flavor_of, cells_of):
    """Return the driver of hosts of a shape.

    :param layout_of: name of a node → its layout
    :param unplugged: (host, address) of devices that aren't there; it may be changed
    :param flavor_of: consumer → the flavor of its guest, or None
    :param cells_of: consumer → the cells that its guest is on, if it has cells of its own
    """

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
            layout = layout_of(nodename)
            inventories = {
                suffix: {name: record(total) for name, total in totals.items()}
                for suffix, totals in layout.items()
            }
            self._dedicate(provider_tree, nodename, inventories[""], allocations)
            numa.arrange(
                provider_tree,
                nodename,
                inventories[""],
                [
                    numa.CellProvider(f"{nodename}_{suffix}", nodename, inventory)
                    for suffix, inventory in inventories.items()
                    if suffix.startswith("numa")
                ],
                numa.of_cells(nodename),
                allocations,
                lambda consumer: self._places(provider_tree, nodename, consumer, allocations),
                _CELL_CLASSES,
            )
            for suffix in set(layout) & set(_GPUS):
                name = f"{nodename}_{suffix}"
                if not provider_tree.exists(name):
                    provider_tree.new_child(name, nodename)
                provider_tree.update_inventory(name, inventories[suffix])
                provider_tree.add_traits(name, *TRAITS.get(suffix, ()))
            root = provider_tree.data(nodename).uuid
            slots = {Resource(root, PMEM, name) for name in NAMESPACES}
            provider_tree.update_resources(nodename, {PMEM: slots})

        def _dedicate(self, tree, nodename, wanted, allocations):
            """Move VCPU of pinned guests to PCPU, where that is new."""
            root = tree.data(nodename)
            if "PCPU" not in wanted or "PCPU" in root.inventory or "VCPU" not in root.inventory:
                return
            if allocations is None:
                raise exceptions.ReshapeNeeded
            pcpu.dedicate(allocations, {root.uuid}, is_pinned, {root.uuid: wanted["PCPU"]})

        def _places(self, tree, nodename, consumer, allocations):
            """Return where a guest with cells has what it holds of the root."""
            cells = cells_of(consumer)
            if not cells:
                return None
            held = allocations[consumer]["allocations"][tree.data(nodename).uuid]["resources"]
            moving = {name: held[name] for name in _CELL_CLASSES if name in held}
            return {f"{nodename}_numa{cells[0]}": moving}

    def is_pinned(consumer):
        flavor = flavor_of(consumer)
        return flavor is not None and flavor.extra_specs.get("hw:cpu_policy") == "dedicated"

    return ShapedDriver
