"""A host with NUMA cells, PCI devices and memory namespaces, and what its tests ask of it."""

import json

from compute.provider_tree import Resource
from compute.records.instance import Flavor
from compute.report.wire.context import admin_context
from virt.fake import MediumFakeDriver
from virt.inventory import record

HOST = "host1"
CONTEXT = admin_context()
TINY = Flavor(vcpus=1, memory_mb=512, root_gb=1)
LARGE = Flavor(vcpus=4, memory_mb=2048, root_gb=20, ephemeral_gb=5, swap=1500)
NOTHING_USED = (0, 512, 0)
HERE = {"host": HOST, "node": HOST}
THERE = {"host": "other", "node": "other"}
TWO_CELLS = json.dumps(
    {"cells": [{"id": n, "cpus": [0, 1, 2, 3], "memory_mb": 4096} for n in (0, 1)]}
)


class EquippedDriver(MediumFakeDriver):
    """Two NUMA cells, PCI devices of a kind, and memory namespaces."""

    namespaces = ("ns_0", "ns_1")

    def get_available_resource(self, nodename):
        devices = [
            {"address": f"0000:0{n}:00.0", "dev_type": "type-PCI", "vendor_id": "8086"}
            for n in (1, 2)
        ]
        return super().get_available_resource(nodename) | {
            "numa_topology": TWO_CELLS,
            "pci_passthrough_devices": devices,
            "stats": {"temperature": 40},
        }

    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename)
        uuid = tree.data(nodename).uuid
        things = {Resource(uuid, "CUSTOM_PMEM", name) for name in self.namespaces}
        inventory = tree.data(nodename).inventory
        tree.update_inventory(nodename, {**inventory, "CUSTOM_PMEM": record(2)})
        tree.update_resources(nodename, {"CUSTOM_PMEM": things})


def used(tracker):
    """Return the used processors, MiB of memory and GiB of disk in the node's record."""
    node = tracker.compute_nodes[HOST]
    return node.vcpus_used, node.memory_mb_used, node.local_gb_used


def update(tracker, startup=False):
    """Update the host's node."""
    tracker.update_available_resource(CONTEXT, HOST, startup=startup)
