"""The libvirt driver: it reports a hypervisor's host. It starts no guests itself."""

from oslo_config import cfg

from virt.libvirt.hypervisor import Hypervisor
from virt.libvirt.libvirt_host_info import LibvirtHostInfo
from virt.libvirt.options import check_options, cpu_options, disks, guest_options
from virt.node.driver import NodeDriver
from virt.node.facts import HostInfo
from virt.virtapi import VirtAPI


class LibvirtDriver(NodeDriver):
    """One node, named as the hypervisor calls its host; compute.md §6.5.

    While libvirt can't be asked, methods raise VirtDriverNotReady, so the service may start before
    the hypervisor.
    """

    capabilities = {
        "has_imagecache": True,
        "supports_accelerators": True,
        "supports_attach_interface": True,
        "supports_bfv_rescue": True,
        "supports_device_tagging": True,
        "supports_evacuate": True,
        "supports_extend_volume": True,
        "supports_image_type_aki": True,
        "supports_image_type_ami": True,
        "supports_image_type_ari": True,
        "supports_image_type_iso": True,
        "supports_image_type_qcow2": True,
        "supports_image_type_raw": True,
        "supports_migrate_to_same_host": False,
        "supports_multiattach": True,
        "supports_pcpus": True,
        # with a device that somebody else manages; the service looks for one
        "supports_remote_managed_ports": True,
        "supports_socket_pci_numa_affinity": True,
        "supports_tagged_attach_interface": True,
        "supports_tagged_attach_volume": True,
        "supports_trusted_certs": True,
    }

    def __init__(
        self,
        virtapi: VirtAPI,
        conf: cfg.ConfigOpts | None = None,
        host_info: HostInfo | None = None,
    ) -> None:
        super().__init__(virtapi, conf, host_info)
        options = self.conf.libvirt
        # A volume group takes images as they are, and can't have layers.
        takes_qcow2 = options.images_type != "lvm" or self.conf.force_raw_images
        self.capabilities = {
            **self.capabilities,
            "supports_image_type_ploop": options.virt_type == "parallels",
            "supports_image_type_qcow2": takes_qcow2,
        }
        self._node: str | None = None

    def default_host_info(self) -> HostInfo:
        """Return what asks libvirt at the configured URI, and sysfs for the rest."""
        hypervisor = Hypervisor(self.conf.libvirt.connection_uri)
        return LibvirtHostInfo(
            hypervisor,
            self.conf.instances_path,
            self.conf.berth.sysfs_root,
            guest_options(self.conf),
            cpu_options(self.conf),
            disks(self.conf),
        )

    def init_host(self, host: str) -> None:
        """Refuse options that contradict each other."""
        super().init_host(host)
        check_options(self.conf)

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        """Return the one node; its name stays as libvirt first told it.

        Raises VirtDriverNotReady if libvirt hasn't told it yet.
        """
        if self._node is None:
            self._node = self._facts().hostname
        return [self._node]
