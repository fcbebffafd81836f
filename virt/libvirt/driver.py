"""The libvirt driver: it reports a hypervisor's host. It starts no guests itself."""

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from compute import exceptions
from virt.driver import ComputeDriver
from virt.host.facts import HostFactsError
from virt.libvirt import pmem
from virt.libvirt.consumers import Consumers
from virt.libvirt.cpu_sets import CpuSets, configured_cpus, cpu_sets
from virt.libvirt.facts import HostFacts, HostInfo, MalformedXML
from virt.libvirt.gpus import checked_classes
from virt.libvirt.host_info import LibvirtHostInfo
from virt.libvirt.hypervisor import Hypervisor
from virt.libvirt.node_update import NodeUpdate
from virt.pci_device import offered, parse_device_specs
from virt.reshape.records import Allocations
from virt.reshape.resource_class import check_renames
from virt.virtapi import VirtAPI

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree


class LibvirtDriver(ComputeDriver):
    """One node, named as the hypervisor calls its host; compute.md §6.5.

    Options that contradict each other, or the host, are an InvalidConfiguration; so is a
    description that makes no sense. While libvirt can't be asked, there is a VirtDriverNotReady. In
    a reshape all of these are a ReshapeFailed.
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
        "supports_image_type_vdi": False,
        "supports_image_type_vhd": False,
        "supports_image_type_vhdx": False,
        "supports_image_type_vmdk": False,
        "supports_migrate_to_same_host": False,
        "supports_multiattach": True,
        "supports_pcpus": True,
        "supports_socket_pci_numa_affinity": True,
        "supports_tagged_attach_interface": True,
        "supports_tagged_attach_volume": True,
        "supports_trusted_certs": True,
    }

    def __init__(
        self, virtapi: VirtAPI, conf: cfg.ConfigOpts, host_info: HostInfo | None = None
    ) -> None:
        super().__init__(virtapi, conf)
        self._host_info = host_info or LibvirtHostInfo(
            Hypervisor(conf.libvirt.connection_uri), conf.instances_path, conf.berth.sysfs_root
        )
        self._node: str | None = None

    def init_host(self, host: str) -> None:
        """Refuse options that contradict each other. The hypervisor need not be there yet."""
        check_options(self.conf)

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        """Return the one node, whose name stays what it was at the first time.

        Raises VirtDriverNotReady while the hypervisor hasn't told it yet.
        """
        if self._node is None:
            self._node = self._facts().hostname
        return [self._node]

    def list_instances(self) -> list[str]:
        """Return the names of the guests."""
        with understood():
            return [guest.name for guest in self._host_info.guests()]

    def list_instance_uuids(self) -> list[str]:
        """Return the uuids of the guests."""
        with understood():
            return [guest.uuid for guest in self._host_info.guests()]

    def get_host_ip_addr(self) -> str:
        """Return the configured `my_ip`."""
        return self.conf.my_ip

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        """Return the host's totals, and what its guests are entitled to.

        Raises ComputeHostNotFound for another node than ours.
        """
        if nodename not in self.get_available_nodes():
            raise exceptions.ComputeHostNotFound(host=nodename)
        facts = self._facts()
        with understood():
            guests = self._host_info.guests()
        cpus = self._cpus(facts)
        return {
            "vcpus": len(cpus.shared | cpus.dedicated),
            "vcpus_used": sum(len(guest.vcpu_cpus) for guest in guests),
            "memory_mb": facts.memory_mb,
            "memory_mb_used": sum(guest.memory_mb for guest in guests),
            "local_gb": facts.disk.total_gb,
            "local_gb_used": facts.disk.total_gb - facts.disk.free_gb,
            "disk_available_least": facts.disk.free_gb,
            "cpu_info": json.dumps(
                {
                    "arch": facts.architecture,
                    "vendor": facts.processor.vendor,
                    "model": facts.processor.model,
                    "features": sorted(facts.processor.features),
                }
            ),
            "numa_topology": json.dumps(
                {
                    "cells": [
                        {"id": one.id, "cpus": sorted(one.cpus), "memory_mb": one.memory_mb}
                        for one in facts.cells
                    ]
                }
            ),
            "hypervisor_type": facts.hypervisor_type,
            "hypervisor_version": facts.hypervisor_version,
            "hypervisor_hostname": nodename,
            "supported_instances": [],
            "pci_passthrough_devices": json.dumps(self._offered_devices(facts)),
            "stats": {},
        }

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report the host (contract: ComputeDriver.update_provider_tree)."""
        with understood(reshaping=allocations is not None):
            now = self._host_info.facts()
            NodeUpdate(
                tree=provider_tree,
                nodename=nodename,
                allocations=allocations,
                facts=now,
                cpus=self._cpus(now),
                consumers=Consumers(self._host_info, self.virtapi, now),
                conf=self.conf,
                ratios_from=self._get_allocation_ratios,
                reserved_disk_gb=self._reserved_disk_gb(now),
            ).run()

    def _facts(self) -> HostFacts:
        with understood():
            return self._host_info.facts()

    def _cpus(self, facts: HostFacts) -> CpuSets:
        return cpu_sets(configured_cpus(self.conf), facts.online_cpus)

    def _reserved_disk_gb(self, facts: HostFacts) -> int:
        kept = self._get_reserved_host_disk_gb_from_config()
        if self.conf.workarounds.reserve_disk_resource_for_image_cache:
            kept += facts.image_cache_gb
        return kept

    def _offered_devices(self, facts: HostFacts) -> list[dict[str, Any]]:
        """Return the devices guests may have, as the compute service knows them."""
        specs = parse_device_specs(self.conf.pci.device_spec)
        return [
            {
                **spec.tags,
                "address": device.address,
                "vendor_id": device.vendor_id,
                "product_id": device.product_id,
                "dev_type": device.kind,
                "numa_node": device.numa_node,
                "parent_addr": device.physical_function,
                "status": "available",
            }
            for device, spec in offered(facts.pci_devices, specs)
        ]


def check_options(conf: cfg.ConfigOpts) -> None:
    """Raise InvalidConfiguration if options contradict each other, whatever the host has."""
    configured_cpus(conf)
    parse_device_specs(conf.pci.device_spec)
    checked_classes(conf)
    pmem.parse_labels(conf.libvirt.pmem_namespaces)
    try:
        check_renames(conf.berth.renamed_resource_classes)
    except ValueError as error:
        raise exceptions.InvalidConfiguration(
            f"[berth]renamed_resource_classes: {error}"
        ) from error


@contextlib.contextmanager
def understood(reshaping: bool = False) -> Iterator[None]:
    """Turn what went wrong with the facts into what the compute service understands."""
    try:
        yield
    except (MalformedXML, HostFactsError) as error:
        message = f"Can't tell what this host has: {error}"
        if reshaping:
            raise exceptions.ReshapeFailed(error=message) from error
        raise exceptions.InvalidConfiguration(message) from error
    except (exceptions.VirtDriverNotReady, exceptions.InvalidConfiguration) as error:
        if reshaping:
            raise exceptions.ReshapeFailed(error=error) from error
        raise
