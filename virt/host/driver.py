"""A driver that reports the Linux machine it runs on. It starts no guests itself."""

import os
from pathlib import Path

from oslo_config import cfg

from compute import exceptions
from virt.host.kernel_facts import KernelFacts
from virt.host.sysfs_devices import read_devices
from virt.node.disk import disk_space, image_cache_gb
from virt.node.driver import NodeDriver
from virt.node.facts import Guest, HostFacts, HostInfo
from virt.node.memory_encryption_slots import read_encryption_slots
from virt.node.pmem import read_namespaces
from virt.virtapi import VirtAPI


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


class HostDriver(NodeDriver):
    """One node, named like the host, with what the kernel says of this machine.

    It reports, and moves, the same things in the same places as the libvirt driver, by the same
    options, with the file system of `instances_path` as the disk. It knows nothing of guests: a
    reshape places their allocations wherever there is room.
    """

    manages_instances = False

    def __init__(
        self,
        virtapi: VirtAPI,
        conf: cfg.ConfigOpts | None = None,
        host_info: HostInfo | None = None,
    ) -> None:
        super().__init__(virtapi, conf, host_info)
        self._nodes: list[str] = []

    def default_host_info(self) -> HostInfo:
        """Return what reads the kernel's files below the configured roots."""
        kernel = KernelFacts(self.conf.berth.sysfs_root, self.conf.berth.procfs_root)
        return LinuxHostInfo(
            kernel, self.conf.instances_path, self.conf.image_cache.subdirectory_name
        )

    def init_host(self, host: str) -> None:
        """Take the host's name for the node, and see that machine and options make sense."""
        self._nodes = [host]
        super().init_host(host)
        self.get_available_resource(host)

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        """Return the one node; VirtDriverNotReady before init_host."""
        if not self._nodes:
            raise exceptions.VirtDriverNotReady()
        return list(self._nodes)
