"""Machines for tests of drivers of one node, as plain values."""

from dataclasses import replace

from virt.node.facts import DiskSpace, Guest, HostFacts, MediatedDevice, NumaNode, Processor
from virt.pci_device import PciDevice

GPUS = ("pci_0000_84_00_0", "pci_0000_85_00_0", "pci_0000_86_00_0")
TYPE = "nvidia-35"

FACTS = HostFacts(
    hostname="host1",
    hypervisor_type="QEMU",
    hypervisor_version=9000000,
    architecture="x86_64",
    processor=Processor("GenuineIntel", "Some CPU", frozenset({"fpu", "lm", "avx"}), 2),
    hyperthreading=True,
    memory_mb=16384,
    cells=(
        NumaNode(0, frozenset(range(4)), 8192),
        NumaNode(1, frozenset(range(4, 8)), 8192),
    ),
    disk=DiskSpace(total_gb=1000, free_gb=900),
)


class KnownHost:
    """A HostInfo that says what it is told to say; change `now` and `there` as you like."""

    def __init__(self, guests=(), **facts):
        self.now = replace(FACTS, **facts)
        self.there = list(guests)
        self.failure = None

    def facts(self):
        return self.now

    def guests(self):
        if self.failure is not None:
            raise self.failure
        return list(self.there)

    def change(self, **facts):
        self.now = replace(self.now, **facts)


def pinned(uuid, cpus, memory_mb=1024, cell=None, **more):
    """Return a guest with a processor of the host for each of its own."""
    cells = {} if cell is None else {"memory_cells": {cell: memory_mb}}
    return Guest(
        uuid, f"guest {uuid}", [frozenset({cpu}) for cpu in cpus], memory_mb, **cells, **more
    )


def floating(uuid, vcpus=1, memory_mb=1024, **more):
    return Guest(uuid, f"guest {uuid}", [frozenset()] * vcpus, memory_mb, **more)


def mdev_uuid(number):
    return f"c2177883-f1bb-47f0-914d-{number:012d}"


def mediated(devices, kind=TYPE):
    """Mediated devices, from number → device it is a part of."""
    return tuple(MediatedDevice(mdev_uuid(n), parent, kind) for n, parent in devices.items())


def network_card(interface, bus, functions, numa_node=None):
    """Return the devices of a card: the physical function, and its virtual ones."""
    parent = f"0000:{bus:02x}:00.0"
    addresses = [f"0000:{bus:02x}:10.{n}" for n in range(functions)]
    return [
        PciDevice(parent, "8086", "10fb", numa_node, interface, virtual_functions=addresses),
        *(PciDevice(one, "8086", "10ed", numa_node, physical_function=parent) for one in addresses),
    ]
