"""What the libvirt driver needs to know of a host, as plain values.

`HostInfo` is where it learns them. The one that asks libvirt is in host_info.py; anything else with
these two methods will do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from virt.host.facts import DiskSpace, NumaNode, Processor
from virt.pci_device import PciDevice


class MalformedXML(Exception):
    """libvirt described something in a way that makes no sense; the text says what and how."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what}: {reason}")
        self.what = what
        self.reason = reason


@dataclass(frozen=True)
class MediatedDevice:
    """A mediated device: the device it is a part of (`pci_0000_84_00_0`), and its type."""

    uuid: str
    parent: str
    type: str


@dataclass(frozen=True)
class HostFacts:
    """One host. Memory is in MiB, disk in GiB.

    `creatable` is device → type → how many more mediated devices of it can be made, as long as no
    other type is used. `encryption_slots` is the name of a technology (`amd_sev`) → how many guests
    can use it at once. `pmem_namespaces` is the name of a namespace of persistent memory → its size
    in bytes.
    """

    hostname: str
    hypervisor_type: str
    hypervisor_version: int
    architecture: str
    processor: Processor
    hyperthreading: bool
    memory_mb: int
    cells: Sequence[NumaNode]
    disk: DiskSpace
    image_cache_gb: int = 0
    creatable: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    mediated_devices: Sequence[MediatedDevice] = ()
    pci_devices: Sequence[PciDevice] = ()
    encryption_slots: Mapping[str, int] = field(default_factory=dict)
    pmem_namespaces: Mapping[str, int] = field(default_factory=dict)

    @property
    def online_cpus(self) -> frozenset[int]:
        """Return the numbers of the processors that are online."""
        return frozenset().union(*(cell.cpus for cell in self.cells))


@dataclass(frozen=True)
class Guest:
    """One guest, running or not.

    `vcpu_cpus` says for each virtual processor which of the host's it may run on; an empty set is
    "any". `memory_cells` is host NUMA cell → MiB, or None if that isn't fixed.
    `mediated_devices` are uuids, `pci_addresses` those of devices it was given whole.
    """

    uuid: str
    name: str
    vcpu_cpus: Sequence[frozenset[int]]
    memory_mb: int
    memory_cells: Mapping[int, int] | None = None
    mediated_devices: Sequence[str] = ()
    pci_addresses: Sequence[str] = ()

    @property
    def is_pinned(self) -> bool:
        """Say whether each virtual processor has one of the host's to itself."""
        return bool(self.vcpu_cpus) and all(len(cpus) == 1 for cpus in self.vcpu_cpus)


class HostInfo(Protocol):
    """Tells about one host.

    Both raise VirtDriverNotReady while the hypervisor can't be asked, MalformedXML and
    HostFactsError if what it says can't be understood.
    """

    def facts(self) -> HostFacts:
        """Return what the host is and has, now."""

    def guests(self) -> Sequence[Guest]:
        """Return the guests it has, now, whether they run or not."""
