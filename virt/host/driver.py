"""A driver that reports the Linux machine it runs on. It starts no guests itself."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from compute import exceptions
from virt.driver import ComputeDriver
from virt.host.devices import read_devices
from virt.host.facts import HostInfo, NumaNode, disk_space
from virt.libvirt.consumers import Consumers
from virt.libvirt.cpu_sets import CpuSets, configured_cpus, cpu_sets
from virt.libvirt.driver import check_options, understood
from virt.libvirt.facts import Guest, HostFacts
from virt.libvirt.node_update import NodeUpdate
from virt.reshape.records import Allocations
from virt.virtapi import VirtAPI

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree


class HostDriver(ComputeDriver):
    """One node, named like the host, with what the kernel says of this machine.

    It reports, and moves, the same things in the same places as the libvirt driver, by the same
    options, with the file system of `instances_path` as the disk. Facts that can't be read are an
    InvalidConfiguration that names the file, and in a reshape a ReshapeFailed. Of guests it knows
    nothing: in a reshape they go wherever there is room.
    """

    def __init__(
        self, virtapi: VirtAPI, conf: cfg.ConfigOpts, host_info: HostInfo | None = None
    ) -> None:
        super().__init__(virtapi, conf)
        self._host_info = host_info or HostInfo(conf.berth.sysfs_root, conf.berth.procfs_root)
        self._nodes: list[str] = []

    def init_host(self, host: str) -> None:
        """Take the host's name for the node, and see that machine and options make sense."""
        self._nodes = [host]
        check_options(self.conf)
        self.get_available_resource(host)

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        """Return the one node; VirtDriverNotReady before init_host."""
        if not self._nodes:
            raise exceptions.VirtDriverNotReady()
        return list(self._nodes)

    def list_instances(self) -> list[str]:
        """Return nothing: guests of this host aren't ours to know."""
        return []

    def list_instance_uuids(self) -> list[str]:
        """Return nothing, for the same reason."""
        return []

    def get_host_ip_addr(self) -> str:
        """Return the configured `my_ip`."""
        return self.conf.my_ip

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        """Return the machine's totals, and what the running system uses of them.

        Raises ComputeHostNotFound for another node than ours.
        """
        if nodename not in self._nodes:
            raise exceptions.ComputeHostNotFound(host=nodename)
        with understood():
            facts, memory = self._facts(nodename), self._host_info.memory()
            cpus = self._cpus(facts)
        return {
            "vcpus": len(cpus.shared | cpus.dedicated),
            "vcpus_used": 0,
            "memory_mb": facts.memory_mb,
            "memory_mb_used": max(0, memory.total_mb - memory.available_mb),
            "local_gb": facts.disk.total_gb,
            "local_gb_used": facts.disk.total_gb - facts.disk.free_gb,
            "disk_available_least": facts.disk.free_gb,
            "cpu_info": json.dumps(
                {
                    "vendor": facts.processor.vendor,
                    "model": facts.processor.model,
                    "features": sorted(facts.processor.features),
                }
            ),
            "numa_topology": json.dumps({"cells": [_cell_facts(cell) for cell in facts.cells]}),
            "hypervisor_type": "host",
            "hypervisor_version": 1,
            "hypervisor_hostname": nodename,
            "supported_instances": [],
            "stats": {},
        }

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report this machine (contract: ComputeDriver.update_provider_tree)."""
        with understood(reshaping=allocations is not None):
            facts = self._facts(nodename)
            NodeUpdate(
                tree=provider_tree,
                nodename=nodename,
                allocations=allocations,
                facts=facts,
                cpus=self._cpus(facts),
                consumers=Consumers(_NoGuests(facts), self.virtapi, facts),
                conf=self.conf,
                ratios_from=self._get_allocation_ratios,
                reserved_disk_gb=self._get_reserved_host_disk_gb_from_config(),
            ).run()

    def _facts(self, nodename: str) -> HostFacts:
        info = self._host_info
        devices = read_devices(info.sysfs_root)
        return HostFacts(
            hostname=nodename,
            hypervisor_type="host",
            hypervisor_version=1,
            architecture="",
            processor=info.processor(),
            hyperthreading=info.hyperthreading(),
            memory_mb=info.memory().total_mb,
            cells=info.numa_nodes(),
            disk=disk_space(self.conf.instances_path),
            creatable=devices.creatable,
            mediated_devices=devices.mediated,
            pci_devices=devices.pci,
            encryption_slots=info.encryption_slots(),
        )

    def _cpus(self, facts: HostFacts) -> CpuSets:
        return cpu_sets(configured_cpus(self.conf), facts.online_cpus)


class _NoGuests:
    """Tells about a host whose guests aren't ours to know."""

    def __init__(self, facts: HostFacts) -> None:
        self._facts = facts

    def facts(self) -> HostFacts:
        return self._facts

    def guests(self) -> Sequence[Guest]:
        return ()


def _cell_facts(cell: NumaNode) -> dict[str, Any]:
    return {
        "id": cell.id,
        "cpus": sorted(cell.cpus),
        "memory_mb": cell.memory_mb,
        "hugepages": [
            {"size_kb": size, "total": count} for size, count in sorted(cell.hugepages.items())
        ],
    }
