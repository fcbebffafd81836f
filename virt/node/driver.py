"""A driver of one node, which reports what facts say of the machine."""

import contextlib
import copy
import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from oslo_config import cfg

from compute import exceptions
from compute.pci.device_spec import parse_device_specs
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.cells import cell_name
from virt.driver import ComputeDriver
from virt.node import pmem
from virt.node.consumers import Consumers
from virt.node.cpu_sets import CpuSets, configured_cpus, cpu_sets
from virt.node.facts import Guest, HostFacts, HostFactsError, HostInfo
from virt.node.gpus import gpus
from virt.node.guest_places import card_places, cell_places, device_counts
from virt.node.kept_pages import kept_pages
from virt.node.mdev_types import configured_types
from virt.node.node_update import NodeUpdate
from virt.pci_device import offered
from virt.reshape.resource_class import check_renames
from virt.reshape.vgpu import VGPU, pgpu_name
from virt.sriov import SRIOV_NET_VF, CardProviders, physical_functions
from virt.virtapi import VirtAPI

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree


def places_of(
    guest: Guest,
    tree: "ProviderTree",
    nodename: str,
    resources: Mapping[str, int],
    facts: HostFacts,
    conf: cfg.ConfigOpts,
    dedicated: Collection[int],
) -> dict[str, dict[str, int]]:
    """Return provider uuid → class → amount, of the providers in the tree.

    :param resources: class → how much the guest should have
    :param dedicated: processors of the host that a guest can have to itself
    """
    names: dict[str, dict[str, int]] = {}
    for cell, found in cell_places(guest, facts.cells, resources, dedicated).items():
        names.setdefault(cell_name(nodename, cell), {}).update(found)
    specs = parse_device_specs(conf.pci.device_spec)
    cards = CardProviders(tree, nodename, physical_functions(facts.pci_devices, specs))
    counts = card_places(guest, {one.name: one.virtual_functions for one in cards.functions})
    for name, card in cards.present.items():
        # A provider without inventory was replaced by another one of the same card.
        if card in counts and SRIOV_NET_VF in tree.data(name).inventory:
            names.setdefault(name, {})[SRIOV_NET_VF] = counts[card]
    classes = gpus(facts, conf).classes
    for device, count in device_counts(guest, facts.mediated_devices).items():
        name = pgpu_name(nodename, device)
        names.setdefault(name, {})[classes.get(device, VGPU)] = count
    return {tree.data(name).uuid: found for name, found in names.items() if tree.exists(name)}


class NodeDriver(ComputeDriver):
    """Reports a machine as its facts are; subclasses say what the node is called.

    Methods raise InvalidConfiguration if options contradict each other or the machine, or if facts
    make no sense. In a reshape they raise ReshapeFailed for all of that, and in the place of
    VirtDriverNotReady.
    """

    def __init__(
        self,
        virtapi: VirtAPI,
        conf: cfg.ConfigOpts | None = None,
        host_info: HostInfo | None = None,
    ) -> None:
        super().__init__(virtapi, conf)
        self._host_info = host_info or self.default_host_info()

    def default_host_info(self) -> HostInfo:
        """Return the source of the facts for a driver that is made without one.

        `self.conf` is there already. A subclass that passes no `host_info` on must override this.
        """
        raise NotImplementedError

    def init_host(self, host: str) -> None:
        """Refuse options that contradict each other."""
        check_options(self.conf)

    def list_instances(self) -> list[str]:
        """Return the names of the guests, as far as they are known."""
        with understood():
            return [guest.name for guest in self._host_info.guests()]

    def list_instance_uuids(self) -> list[str]:
        """Return the uuids of the guests, as far as they are known."""
        with understood():
            return [guest.uuid for guest in self._host_info.guests()]

    def devices_of_guests(self) -> dict[str, list[str]]:
        """Return uuid → addresses of the guests' PCI devices, as far as they are known."""
        with understood():
            guests = self._host_info.guests()
        return {one.uuid: list(one.pci_addresses) for one in guests if one.pci_addresses}

    def get_host_ip_addr(self) -> str:
        """Return the configured `my_ip`."""
        return self.conf.my_ip

    def get_available_resource(self, nodename: str) -> dict[str, object]:
        """Return the machine's totals, and what is used of them.

        Raises ComputeHostNotFound if the node isn't ours.
        """
        if nodename not in self.get_available_nodes():
            raise exceptions.ComputeHostNotFound(host=nodename)
        with understood():
            facts, guests = self._host_info.facts(), self._host_info.guests()
        cpus = self._cpus(facts)
        memory_used_mb = facts.memory_used_mb
        if memory_used_mb is None:
            memory_used_mb = sum(guest.memory_mb for guest in guests)
        return {
            "vcpus": len(cpus.shared | cpus.dedicated),
            "vcpus_used": sum(len(guest.vcpu_cpus) for guest in guests),
            "memory_mb": facts.memory_mb,
            "memory_mb_used": memory_used_mb,
            "local_gb": facts.disk.total_gb,
            "local_gb_used": facts.disk.total_gb - facts.disk.free_gb,
            "disk_available_least": facts.disk.free_gb,
            "cpu_info": _cpu_info(facts),
            "numa_topology": _numa_topology(facts, cpus.dedicated),
            "hypervisor_type": facts.hypervisor_type,
            "hypervisor_version": facts.hypervisor_version,
            "hypervisor_hostname": nodename,
            "supported_instances": [list(kind) for kind in facts.guest_kinds],
            "pci_passthrough_devices": json.dumps(self._offered_devices(facts)),
            "stats": {},
        }

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report the machine (contract: ComputeDriver.update_provider_tree)."""
        with understood(reshaping=allocations is not None):
            facts = self._host_info.facts()
            cpus = self._cpus(facts)
            # Several kinds of inventory may move. If one of them fails, nothing may have moved.
            edited = copy.deepcopy(allocations)
            NodeUpdate(
                tree=provider_tree,
                nodename=nodename,
                allocations=edited,
                facts=facts,
                cpus=cpus,
                consumers=Consumers(self._host_info, self.virtapi, facts, cpus.dedicated),
                conf=self.conf,
                ratios_from=self._get_allocation_ratios,
                reserved_disk_gb=self._reserved_disk_gb(facts),
            ).run()
        if allocations is not None and edited is not None:
            allocations.update(edited)

    def places_of_guest(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        consumer: str,
        resources: Mapping[str, int],
    ) -> dict[str, dict[str, int]]:
        """Say where the hypervisor has the guest (contract: ComputeDriver.places_of_guest)."""
        with understood():
            facts = self._host_info.facts()
            dedicated = self._cpus(facts).dedicated
            guest = Consumers(self._host_info, self.virtapi, facts, dedicated).guest(consumer)
            if guest is None:
                return {}
            return places_of(guest, provider_tree, nodename, resources, facts, self.conf, dedicated)

    def _facts(self) -> HostFacts:
        with understood():
            return self._host_info.facts()

    def _cpus(self, facts: HostFacts) -> CpuSets:
        return cpu_sets(configured_cpus(self.conf), facts.online_cpus, facts.offline_cpus)

    def _reserved_disk_gb(self, facts: HostFacts) -> int:
        kept = self._get_reserved_host_disk_gb_from_config()
        if self.conf.workarounds.reserve_disk_resource_for_image_cache:
            kept += facts.image_cache_gb
        return kept

    def _offered_devices(self, facts: HostFacts) -> list[dict[str, object]]:
        """Return the devices guests may have, as the compute service knows them."""
        specs = parse_device_specs(self.conf.pci.device_spec)
        return [
            {**spec.tags, **device.listed()}
            for device, spec in offered(facts.pci_devices, specs)
            if device.is_there
        ]


def check_options(conf: cfg.ConfigOpts) -> None:
    """Raise InvalidConfiguration if options contradict each other, whatever the host has."""
    configured_cpus(conf)
    parse_device_specs(conf.pci.device_spec)
    configured_types(conf)
    kept_pages(conf)
    pmem.parse_labels(conf.libvirt.pmem_namespaces)
    try:
        check_renames(conf.berth.renamed_resource_classes)
    except ValueError as error:
        raise exceptions.InvalidConfiguration(
            f"[berth]renamed_resource_classes: {error}"
        ) from error


@contextlib.contextmanager
def understood(reshaping: bool = False) -> Iterator[None]:
    """Convert exceptions about facts into those that the compute service knows."""
    try:
        yield
    except HostFactsError as error:
        message = f"Can't tell what this host has: {error}"
        if reshaping:
            raise exceptions.ReshapeFailed(error=message) from error
        raise exceptions.InvalidConfiguration(message) from error
    except (exceptions.VirtDriverNotReady, exceptions.InvalidConfiguration) as error:
        if reshaping:
            raise exceptions.ReshapeFailed(error=error) from error
        raise


def _cpu_info(facts: HostFacts) -> str:
    return json.dumps(
        {
            "arch": facts.architecture,
            "vendor": facts.processor.vendor,
            "model": facts.processor.model,
            "features": sorted(facts.processor.features),
        }
    )


def _numa_topology(facts: HostFacts, dedicated: frozenset[int]) -> str:
    cells = [
        {
            "id": cell.id,
            "cpus": sorted(cell.cpus | (cell.offline & dedicated)),
            "memory_mb": cell.memory_mb,
            "hugepages": [
                {"size_kb": size, "total": count} for size, count in sorted(cell.hugepages.items())
            ],
        }
        for cell in facts.cells
    ]
    return json.dumps({"cells": cells})
