"""A host as libvirt, and its file system, describe it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from virt.libvirt import capabilities_xml as capabilities
from virt.libvirt.device_xml import parse_devices
from virt.libvirt.disk_pools import Disks
from virt.libvirt.guest_cpu import CpuOptions, guest_features
from virt.libvirt.guest_kinds import guest_kinds
from virt.libvirt.guest_traits import GuestOptions, Versions, guest_traits, parse_offer
from virt.libvirt.guest_xml import parse_guest
from virt.libvirt.hypervisor import Hypervisor
from virt.node.facts import Guest, HostFacts, NumaNode
from virt.node.memory_encryption_slots import (
    SEV_ES,
    TDX,
    of_tdx,
    read_encryption_slots,
    switched_on,
)
from virt.node.pmem import read_namespaces

#: of QEMU; nova 34 offers no SEV-ES with an older one
_SEV_ES_SINCE = 8_000_000


class LibvirtHostInfo:
    """Reads everything anew at each call.

    `instances_path` is where guests' disks are if `disks` doesn't say it. Below `sysfs_root` is
    what libvirt doesn't tell: persistent memory, and how many guests can use some kinds of memory
    encryption. `options` and `cpu` are what the operator decides of guests, `disks` where they have
    their disks.
    """

    def __init__(
        self,
        hypervisor: Hypervisor,
        instances_path: str | os.PathLike[str],
        sysfs_root: str | os.PathLike[str] = "/sys",
        options: GuestOptions | None = None,
        cpu: CpuOptions | None = None,
        disks: Disks | None = None,
    ) -> None:
        self._hypervisor = hypervisor
        self._sysfs_root = sysfs_root
        self._options = options or GuestOptions()
        self._cpu = cpu or CpuOptions()
        self._disks = disks or Disks(instances_path)

    def facts(self) -> HostFacts:
        """Return what the host is and has, now; raises as HostInfo says."""
        hypervisor = self._hypervisor
        described = hypervisor.capabilities()
        host = capabilities.parse_capabilities(described)
        devices = parse_devices(hypervisor.devices(), hypervisor.defined_devices())
        host_memory_mb = hypervisor.memory_mb()
        cells = _all_in_cells(host.cells, hypervisor.online_cpus(), host_memory_mb)
        return HostFacts(
            hostname=hypervisor.hostname(),
            hypervisor_type=hypervisor.type(),
            hypervisor_version=hypervisor.version(),
            architecture=host.architecture,
            processor=capabilities.processor(host, guest_features(host, hypervisor, self._cpu)),
            hyperthreading=host.hyperthreading,
            memory_mb=self._options.file_backed_memory or host_memory_mb,
            cells=cells,
            guest_kinds=host.guest_kinds,
            disk=self._disks.space(),
            image_cache_gb=self._disks.image_cache_gb(),
            creatable=devices.creatable,
            mediated_devices=devices.mediated,
            pci_devices=devices.pci,
            encryption_slots=self._encryption_slots(),
            pmem_namespaces=read_namespaces(self._sysfs_root),
            offline_cpus=hypervisor.offline_cpus().difference(*(one.cpus for one in cells)),
            guest_traits=self._guest_traits(described, host.architecture),
        )

    def guests(self) -> list[Guest]:
        """Return the guests; raises as HostInfo says."""
        hypervisor = self._hypervisor

        @cache
        def vhosts() -> Mapping[str, str]:
            return parse_devices(hypervisor.devices()).vhosts

        return [parse_guest(text, name, vhosts) for name, text in hypervisor.guests().items()]

    def _guest_traits(self, described: str, architecture: str) -> dict[str, bool]:
        hypervisor, options = self._hypervisor, self._options
        virt_type = options.virt_type
        answers = (
            (kind.architecture, hypervisor.what_guests_can_have(kind, virt_type))
            for kind in guest_kinds(described, virt_type, options.machine_types)
        )
        return guest_traits(
            architecture,
            [parse_offer(name, answer) for name, answer in answers if answer is not None],
            Versions(hypervisor.library_version(), hypervisor.version()),
            options,
        )

    def _encryption_slots(self) -> dict[str, int]:
        """Return technology → how many guests, as libvirt says, or else the kernel."""
        told = self._hypervisor.domain_capabilities()
        known = {} if told is None else capabilities.parse_encryption(told)
        if self._hypervisor.version() < _SEV_ES_SINCE:
            known.pop(SEV_ES, None)
        slots = switched_on(known, self._sysfs_root)
        counted = read_encryption_slots(self._sysfs_root) if None in slots.values() else {}
        counted[TDX] = of_tdx(counted.get(TDX), self._options.tdx_guests)
        return {
            name: counted.get(name, 0) if number is None else number
            for name, number in slots.items()
        }


def _all_in_cells(
    cells: Sequence[NumaNode], online: frozenset[int], memory_mb: int
) -> list[NumaNode]:
    """Return NUMA cells that hold all the host has.

    For a hypervisor that reports no cells, one cell holds everything. Memory that belongs to no
    cell is counted with the first. Where there are cells, they say which processors are online.
    """
    if not any(cell.cpus for cell in cells):
        return [NumaNode(0, online, memory_mb)]
    unclaimed_mb = max(0, memory_mb - sum(cell.memory_mb for cell in cells))
    first = cells[0]
    return [replace(first, memory_mb=first.memory_mb + unclaimed_mb), *cells[1:]]
