"""One update of a node's providers, from what is in the tree to what the host has."""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oslo_config import cfg

from compute import exceptions
from compute.pci.device_spec import parse_device_specs
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.cells import CELL_CLASSES, cell_name
from compute.provider_tree.names import child_suffix
from virt.inventory import Inventory
from virt.node import pmem, provider_layout
from virt.node.consumers import Consumers, KnownPlaces
from virt.node.cpu_sets import CpuSets
from virt.node.cpu_traits import cpu_traits
from virt.node.facts import HostFacts
from virt.node.gpus import gpus
from virt.node.kept_pages import kept_pages
from virt.ownership import Ownership
from virt.reshape import memory_encryption, numa, pcpu, shared_storage, vgpu
from virt.reshape.removal import remove_gone
from virt.reshape.resource_class import rename_classes
from virt.sriov import SRIOV_NET_VF, CardProviders, physical_functions

if TYPE_CHECKING:
    from compute.provider_tree import ProviderData, ProviderTree, Resource

LOG = logging.getLogger(__name__)

_MOVING = (*CELL_CLASSES, pcpu.PCPU, SRIOV_NET_VF)


@dataclass
class NodeUpdate:
    """Changes `tree`, and `allocations` if there are any, to what the host has; see run."""

    tree: "ProviderTree"
    nodename: str
    allocations: Allocations | None
    facts: HostFacts
    cpus: CpuSets
    consumers: Consumers
    conf: cfg.ConfigOpts
    #: current inventory → ratio of each class
    ratios_from: Callable[[Mapping[str, Mapping[str, float]]], Mapping[str, float]]
    reserved_disk_gb: int

    def run(self) -> None:
        """Update. Raises ReshapeNeeded and ReshapeFailed by the contract of update_provider_tree.

        All that may need a reshape comes first. Providers whose devices are gone are removed last:
        a reshape runs this twice on the same tree, and had the first pass removed them, the second
        one would miss that guests hold them.
        """
        tree, nodename, allocations = self.tree, self.nodename, self.allocations
        known = {*self.facts.creatable, *(one.parent for one in self.facts.mediated_devices)}
        renamed = self.conf.berth.renamed_resource_classes
        rename_classes(tree, nodename, renamed, allocations, self._made_by_us(known))
        cards = self._cards()
        is_ours = numa.of_cells(nodename, cards.present)
        now = numa.inventories_now(tree, nodename, is_ours)
        pool = self._pool()
        wanted = self._layout(now, report_disk=pool is None)
        namespaces = self._namespaces()
        wanted.root.update(pmem.inventory(namespaces))
        found = gpus(self.facts, self.conf, self._reported_gpus(known))

        vgpu.update_pgpus(
            tree, nodename, found.inventories, self.consumers.devices, allocations, found.classes
        )
        self._dedicate(now, wanted)
        slots = self.facts.encryption_slots
        memory_encryption.update_memory_encryption(tree, nodename, slots, allocations)
        if pool is not None:
            shared_storage.move_disk(tree, nodename, pool, allocations)
        self._arrange(is_ours, cards, wanted, now)

        vgpu.remove_other_pgpus(tree, nodename, found.inventories, allocations, known)
        memory_encryption.remove_other_technologies(tree, nodename, slots, allocations)
        for name in cards.gone:
            remove_gone(tree, name, allocations)
        tree.update_resources(nodename, namespaces)
        self._update_traits()

    def _made_by_us(self, gpus: Collection[str]) -> Ownership:
        """Return the Ownership of all kinds of providers that this driver makes."""
        cards = self._cards()
        return Ownership(
            self.nodename,
            numa.is_cell,
            vgpu.is_pci_device,
            frozenset(gpus).__contains__,
            memory_encryption.is_technology,
            names=[*cards.present, *cards.gone],
        )

    def _reported_gpus(self, known: Collection[str]) -> set[str]:
        """Return the devices whose providers are in the tree."""
        ours = vgpu.of_pgpus(self.nodename, known).below_root(self.tree)
        suffixes = (child_suffix(self.nodename, provider.name) for provider in ours)
        return {suffix for suffix in suffixes if suffix is not None}

    def _cards(self) -> CardProviders:
        specs = parse_device_specs(self.conf.pci.device_spec)
        functions = physical_functions(self.facts.pci_devices, specs)
        return CardProviders(self.tree, self.nodename, functions)

    def _namespaces(self) -> "dict[str, set[Resource]]":
        labels = pmem.parse_labels(self.conf.libvirt.pmem_namespaces)
        root_uuid = self.tree.data(self.nodename).uuid
        return pmem.resources(labels, self.facts.pmem_namespaces, root_uuid)

    def _pool(self) -> "ProviderData | None":
        """Return the provider that has the disk instead of the root, if there is one."""
        pool = next(iter(shared_storage.disk_pools(self.tree, self.nodename)), None)
        if pool is not None and self.conf.berth.report_disk_on_root_when_shared:
            LOG.debug(
                "%s shares DISK_GB with %s, which reports its own as well", pool.name, self.nodename
            )
            return None
        return pool

    def _layout(self, now: Mapping[str, Inventory], report_disk: bool) -> provider_layout.Layout:
        facts = self.facts
        lay_out = provider_layout.flat
        if self.conf.berth.numa_in_placement:
            moves = self.conf.berth.numa_classes == "standard"
            lay_out = provider_layout.modelled if moves else provider_layout.described
        disk_gb = facts.disk.total_gb if report_disk else 0
        totals = {
            "VCPU": len(self.cpus.shared),
            "MEMORY_MB": facts.memory_mb,
            "DISK_GB": disk_gb,
        }
        return lay_out(
            provider_layout.LayoutInput(
                self.nodename,
                facts,
                self.cpus,
                provider_layout.reserved_amounts(self.conf, totals, self.reserved_disk_gb),
                lambda name: self.ratios_from(numa.inherited(now, name)),
                disk_gb,
                kept_pages(self.conf),
            )
        )

    def _dedicate(self, now: Mapping[str, Inventory], wanted: provider_layout.Layout) -> None:
        """Turn VCPU of pinned guests into PCPU, when PCPU come up first (compute.md §6.5.2)."""
        have_been = {name for inventory in now.values() for name in inventory}
        is_news = self.cpus.dedicated and pcpu.VCPU in have_been and pcpu.PCPU not in have_been
        if not is_news or not self.consumers.has_pinned_guests():
            return
        if self.allocations is None:
            raise exceptions.ReshapeNeeded()
        uuids = {name: self.tree.data(name).uuid for name in now}
        inventories = {self.nodename: wanted.root} | {
            cell.name: cell.inventory for cell in wanted.cells
        }
        pcpu.dedicate(
            self.allocations,
            list(uuids.values()),
            self.consumers.is_pinned,
            {
                uuids.get(name, name): inventory[pcpu.PCPU]
                for name, inventory in inventories.items()
                if pcpu.PCPU in inventory
            },
        )

    def _arrange(
        self,
        is_ours: numa.Ownership,
        cards: CardProviders,
        wanted: provider_layout.Layout,
        now: Mapping[str, Inventory],
    ) -> None:
        parents = provider_layout.card_parents(self.nodename, cards.functions, wanted.cells)
        card_providers = cards.wanted(parents)
        providers = [*wanted.cells, *card_providers.values()]
        places = KnownPlaces(
            self.consumers,
            self.allocations or {},
            present={name: self.tree.data(name).uuid for name in now},
            wanted={self.nodename: wanted.root} | {one.name: one.inventory for one in providers},
            cell_names={
                cell.id: name
                for cell in self.facts.cells
                if (name := cell_name(self.nodename, cell.id)) in {one.name for one in wanted.cells}
                # Otherwise cells only describe the root, which has the allocations of guests.
                and self.conf.berth.numa_classes == "standard"
            },
            cards={one.name: one.virtual_functions for one in cards.functions},
            card_names={card: one.name for card, one in card_providers.items()},
            card_of=cards.present,
        )
        numa.arrange(
            self.tree,
            self.nodename,
            wanted.root,
            providers,
            is_ours,
            self.allocations,
            places,
            (*_MOVING, *self._moving_hugepages(now)),
        )

    def _moving_hugepages(self, now: Mapping[str, Inventory]) -> list[str]:
        """Return the classes of huge pages that go from the root to cells, or back.

        Numbers of pages may change at any time; that is no move.
        """
        modelled = self.conf.berth.numa_in_placement
        leaving = {
            resource_class
            for name, inventory in now.items()
            for resource_class in inventory
            if (name == self.nodename) == modelled
        }
        return sorted(leaving & provider_layout.hugepages(self.facts).keys())

    def _update_traits(self) -> None:
        """Set the traits of the processor, and of what guests can have.

        Those of memory encryption are on providers of their own.
        """
        facts = self.facts
        traits = cpu_traits(facts.processor, facts.hyperthreading, facts.architecture)
        traits |= facts.guest_traits
        for name in memory_encryption.TRAITS.values():
            traits.pop(name, None)
        self.tree.add_traits(self.nodename, *(name for name, has in traits.items() if has))
        self.tree.remove_traits(self.nodename, *(name for name, has in traits.items() if not has))
