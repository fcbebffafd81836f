"""A machine as its kernel and its file system describe it."""

import os
from pathlib import Path

from virt.host.kernel_facts import KernelFacts
from virt.host.sysfs_devices import read_devices
from virt.node.disk import disk_space, image_cache_gb
from virt.node.facts import Guest, HostFacts
from virt.node.memory_encryption_slots import read_encryption_slots
from virt.node.pmem import read_namespaces


class LinuxHostInfo:
    """Reads everything anew at each call; a virt.node.facts.HostInfo.

    `instances_path` is where guests' disks are, `image_cache` the directory there that has images.
    """

    def __init__(
        self,
        kernel: KernelFacts,
        instances_path: str | os.PathLike[str],
        image_cache: str = "_base",
    ) -> None:
        self._kernel = kernel
        self._instances_path = instances_path
        self._image_cache = Path(instances_path, image_cache)

    def facts(self) -> HostFacts:
        """Return what the machine is and has, without its name: the service names the node."""
        kernel = self._kernel
        devices = read_devices(kernel.sysfs_root)
        memory = kernel.memory()
        return HostFacts(
            hostname="",
            hypervisor_type="host",
            hypervisor_version=1,
            architecture="",
            processor=kernel.processor(),
            hyperthreading=kernel.hyperthreading(),
            memory_mb=memory.total_mb,
            cells=kernel.numa_nodes(),
            disk=disk_space(self._instances_path),
            image_cache_gb=image_cache_gb(self._image_cache),
            creatable=devices.creatable,
            mediated_devices=devices.mediated,
            pci_devices=devices.pci,
            encryption_slots=read_encryption_slots(kernel.sysfs_root),
            pmem_namespaces=read_namespaces(kernel.sysfs_root),
            offline_cpus=kernel.offline_cpus(),
            memory_used_mb=max(0, memory.total_mb - memory.available_mb),
        )

    def guests(self) -> tuple[Guest, ...]:
        """Return no guests: the kernel doesn't know which of its processes are guests."""
        return ()
