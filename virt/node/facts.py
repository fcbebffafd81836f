"""What drivers need to know of a machine, as plain values; a `HostInfo` finds it out."""

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from virt.pci_device import PciDevice


class HostFactsError(Exception):
    """What describes the machine can't be read or makes no sense; the text says what and how."""

    def __init__(self, what: str | os.PathLike[str], reason: str) -> None:
        """Say what is wrong with `what`: a file's path, a device, a guest or the like."""
        super().__init__(f"{os.fspath(what)}: {reason}")
        self.what = os.fspath(what)
        self.reason = reason


@dataclass(frozen=True)
class DiskSpace:
    """A file system's size and what is free for unprivileged users, in whole GiB."""

    total_gb: int
    free_gb: int


@dataclass(frozen=True)
class NumaNode:
    """One NUMA node: its online processors and its memory in MiB; either may be nothing.

    `offline` are its processors that are not online, as far as they are known. `hugepages` is size
    in KiB → how many pages are set aside of the memory.
    """

    id: int
    cpus: frozenset[int]
    memory_mb: int
    hugepages: Mapping[int, int] = field(default_factory=dict, hash=False)
    offline: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Processor:
    """What the processors are; `features`, in the kernel's words, are those that all have."""

    vendor: str
    model: str
    features: frozenset[str]
    threads_per_core: int


@dataclass(frozen=True)
class MediatedDevice:
    """A mediated device: the device it is a part of (`pci_0000_84_00_0`), and its type.

    One that isn't active is only defined: it takes nothing of its parent until a guest starts.
    """

    uuid: str
    parent: str
    type: str
    is_active: bool = True


@dataclass(frozen=True)
class HostFacts:
    """One host. Memory is in MiB, disk in GiB.

    `guest_kinds` are (architecture, hypervisor, mode), like ("x86_64", "kvm", "hvm").
    `memory_used_mb` is None where the memory that guests are entitled to counts as used.
    `creatable` is device → type → how many more mediated devices of it can be made, as long as no
    other type is used. `encryption_slots` is the name of a technology (`amd_sev`) → how many guests
    can use it at once. `pmem_namespaces` is the name of a namespace of persistent memory → its size
    in bytes. `guest_traits` is trait → whether guests can have what it stands for, for all of them
    that the hypervisor decides. `offline_cpus` are the processors that are not online, even if
    nobody knows of which cell they are.
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
    memory_used_mb: int | None = None
    guest_kinds: Sequence[tuple[str, str, str]] = ()
    guest_traits: Mapping[str, bool] = field(default_factory=dict)
    offline_cpus: frozenset[int] = frozenset()

    @property
    def online_cpus(self) -> frozenset[int]:
        """Return the numbers of the processors that are online."""
        return frozenset().union(*(cell.cpus for cell in self.cells))


@dataclass(frozen=True)
class Guest:
    """One guest, running or not.

    `vcpu_cpus` has for each virtual processor the host's processors that it may run on; an empty
    set means any. `pinned_vcpus` are the numbers of the virtual processors that were pinned one by
    one, while the others share what all may run on; None means all those that may run on a single
    processor. `memory_cells` is host NUMA cell → MiB, or None if that isn't fixed.
    `mediated_devices` are uuids, `pci_addresses` those of devices it was given whole.
    """

    uuid: str
    name: str
    vcpu_cpus: Sequence[frozenset[int]]
    memory_mb: int
    memory_cells: Mapping[int, int] | None = None
    pinned_vcpus: frozenset[int] | None = None
    mediated_devices: Sequence[str] = ()
    pci_addresses: Sequence[str] = ()

    def own_cpus(self, dedicated: Collection[int]) -> dict[int, int]:
        """Return virtual processor → the host's that it has to itself, one of `dedicated`.

        A guest may be bound to a single processor that isn't `dedicated`: it isn't the guest's own,
        because other guests may share it.
        """
        found = {
            number: next(iter(cpus))
            for number, cpus in enumerate(self.vcpu_cpus)
            if len(cpus) == 1
            and cpus.issubset(dedicated)
            and (self.pinned_vcpus is None or number in self.pinned_vcpus)
        }
        uses = Counter(found.values())
        return {number: cpu for number, cpu in found.items() if uses[cpu] == 1}

    def is_pinned(self, dedicated: Collection[int]) -> bool:
        """Say whether each virtual processor has one of the host's `dedicated` to itself."""
        return 0 < len(self.vcpu_cpus) == len(self.own_cpus(dedicated))


class HostInfo(Protocol):
    """Tells about one host.

    Both methods raise VirtDriverNotReady while the host can't be asked, and HostFactsError if its
    answer makes no sense.
    """

    def facts(self) -> HostFacts:
        """Return what the host is and has, now."""

    def guests(self) -> Sequence[Guest]:
        """Return the guests it has, now, whether they run or not."""
