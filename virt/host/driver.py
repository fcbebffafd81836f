"""A driver that reports the Linux machine it runs on. It starts no guests itself."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from compute import exceptions
from virt.driver import ComputeDriver
from virt.host.cpu_traits import cpu_traits
from virt.host.facts import HostFactsError, HostInfo, NumaNode, disk_space
from virt.inventory import Inventory, cell_inventories, record
from virt.reshape import numa
from virt.reshape.records import Allocations
from virt.virtapi import VirtAPI

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree


class HostDriver(ComputeDriver):
    """One node, named like the host, with this machine's processors, memory, disk and CPU traits.

    By default everything is on the root provider. With `[berth]numa_in_placement`, VCPU and
    MEMORY_MB are on one child per NUMA node; changing the option, or the machine's NUMA layout,
    takes a reshape (compute.md §6.6). Facts that can't be read are an InvalidConfiguration.
    """

    def __init__(
        self, virtapi: VirtAPI, conf: cfg.ConfigOpts, host_info: HostInfo | None = None
    ) -> None:
        super().__init__(virtapi, conf)
        self._host_info = host_info or HostInfo(conf.berth.sysfs_root, conf.berth.procfs_root)
        self._nodes: list[str] = []

    def init_host(self, host: str) -> None:
        """Take the host's name for the node, and see that the machine can be read."""
        self._nodes = [host]
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
        with _facts_needed():
            memory, disk = self._host_info.memory(), disk_space(self.conf.state_path)
            processor, cells = self._host_info.processor(), self._host_info.numa_nodes()
        return {
            "vcpus": sum(len(cell.cpus) for cell in cells),
            "vcpus_used": 0,
            "memory_mb": memory.total_mb,
            "memory_mb_used": max(0, memory.total_mb - memory.available_mb),
            "local_gb": disk.total_gb,
            "local_gb_used": disk.total_gb - disk.free_gb,
            "disk_available_least": disk.free_gb,
            "cpu_info": json.dumps(
                {
                    "vendor": processor.vendor,
                    "model": processor.model,
                    "features": sorted(processor.features),
                }
            ),
            "numa_topology": json.dumps({"cells": [_cell_facts(cell) for cell in cells]}),
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
        is_ours = numa.Ownership(nodename)
        now = numa.inventories_now(provider_tree, nodename, is_ours)
        with _facts_needed():
            cells = self._cells(nodename, now) if self.conf.berth.numa_in_placement else []
            root_inventory = self._root_inventory(nodename, now)
            traits = cpu_traits(self._host_info.processor(), self._host_info.hyperthreading())
        numa.arrange(provider_tree, nodename, root_inventory, cells, is_ours, allocations)
        provider_tree.add_traits(nodename, *(name for name, has in traits.items() if has))
        provider_tree.remove_traits(nodename, *(name for name, has in traits.items() if not has))

    def _root_inventory(self, nodename: str, now: Mapping[str, Inventory]) -> Inventory:
        totals = {"DISK_GB": disk_space(self.conf.state_path).total_gb}
        if not self.conf.berth.numa_in_placement:
            totals["VCPU"] = len(self._host_info.online_cpus())
            totals["MEMORY_MB"] = self._host_info.memory().total_mb
        reserved = self._reserved(totals)
        ratios = self._get_allocation_ratios(numa.inherited(now, nodename))
        return {
            name: record(total, reserved[name], ratios[name])
            for name, total in totals.items()
            if total
        }

    def _cells(self, nodename: str, now: Mapping[str, Inventory]) -> list[numa.Provider]:
        """Return the providers of the NUMA nodes, without those that have nothing."""
        nodes = self._host_info.numa_nodes()
        names = [numa.cell_name(nodename, node.id) for node in nodes]
        totals = [{"VCPU": len(node.cpus), "MEMORY_MB": node.memory_mb} for node in nodes]
        whole = {name: sum(cell[name] for cell in totals) for name in numa.CELL_CLASSES}
        inventories = cell_inventories(
            totals,
            self._reserved(whole),
            [self._get_allocation_ratios(numa.inherited(now, name)) for name in names],
        )
        return [
            numa.Provider(name, nodename, inventory)
            for name, inventory in zip(names, inventories, strict=True)
            if inventory
        ]

    def _reserved(self, totals: Mapping[str, int]) -> dict[str, int]:
        """Return what is reserved for the host of each class in `totals`.

        Raises InvalidConfiguration if that is more than there is: Placement would refuse it.
        """
        configured = {
            "VCPU": ("reserved_host_cpus", self.conf.reserved_host_cpus),
            "MEMORY_MB": ("reserved_host_memory_mb", self.conf.reserved_host_memory_mb),
            "DISK_GB": ("reserved_host_disk_mb", self._get_reserved_host_disk_gb_from_config()),
        }
        for name, total in totals.items():
            option, amount = configured[name]
            if total and amount > total:
                raise exceptions.InvalidConfiguration(
                    f"{option} keeps {amount} {name} for the host, which has only {total}."
                )
        return {name: configured[name][1] for name in totals}


def _cell_facts(cell: NumaNode) -> dict[str, Any]:
    return {"id": cell.id, "cpus": sorted(cell.cpus), "memory_mb": cell.memory_mb}


@contextlib.contextmanager
def _facts_needed() -> Iterator[None]:
    """Turn a HostFactsError into the refusal the compute service understands."""
    try:
        yield
    except HostFactsError as error:
        raise exceptions.InvalidConfiguration(f"Can't tell what this host has: {error}") from error
