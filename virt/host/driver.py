"""A driver that reports the Linux machine it runs on. It starts no guests itself."""

from oslo_config import cfg

from compute import exceptions
from virt.host.kernel_facts import KernelFacts
from virt.host.linux_host_info import LinuxHostInfo
from virt.node.driver import NodeDriver
from virt.node.facts import HostInfo
from virt.virtapi import VirtAPI


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
