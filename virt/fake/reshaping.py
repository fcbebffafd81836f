"""Fake hypervisors that change how they report what they have, and so need a reshape.

Each can be made in its old and in its new form. A test, or a rehearsal, starts a service with the
old one, gives guests allocations, and starts the service again with the new one.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from oslo_config import cfg

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.cells import CELL_CLASSES, cell_name
from compute.provider_tree.names import child_name
from virt.fake.cells_and_cards import cells_and_cards, of_cells_and_cards
from virt.fake.driver import MediumFakeDriver
from virt.inventory import Inventory, record
from virt.ownership import Ownership
from virt.reshape import numa
from virt.reshape.resource_class import rename_classes
from virt.reshape.shared_storage import move_disk
from virt.reshape.vgpu import VGPU, pgpu_name, update_pgpus
from virt.sriov import SRIOV_NET_VF, PhysicalFunction
from virt.virtapi import VirtAPI

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree


class FakeReshapeVGPUDriver(MediumFakeDriver):
    """VGPU on the root (`nested=False`), then on a child per physical GPU (compute.md §6.5.1).

    `pgpus` is device → how many VGPU it has; `mdevs` says what guests really have: consumer uuid →
    device → count.
    """

    def __init__(
        self,
        virtapi: VirtAPI,
        conf: cfg.ConfigOpts | None = None,
        nested: bool = True,
        pgpus: Mapping[str, int] | None = None,
        mdevs: Mapping[str, Mapping[str, int]] | None = None,
    ) -> None:
        super().__init__(virtapi, conf)
        self.nested = nested
        self.pgpus = dict(
            {"pci_0000_84_00_0": 1, "pci_0000_85_00_0": 1, "pci_0000_86_00_0": 1}
            if pgpus is None
            else pgpus
        )
        self.mdevs = {consumer: dict(counts) for consumer, counts in (mdevs or {}).items()}

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report the root, and VGPU where it belongs in this form."""
        inventory = self._root_inventory(provider_tree.data(nodename).inventory)
        if self.nested:
            update_pgpus(
                provider_tree,
                nodename,
                {device: record(total) for device, total in self.pgpus.items()},
                lambda consumer: self.mdevs.get(consumer, {}),
                allocations,
            )
        elif total := sum(self.pgpus.values()):
            inventory[VGPU] = record(total)
        provider_tree.update_inventory(nodename, inventory)

    def places_of_guest(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        consumer: str,
        resources: Mapping[str, int],
    ) -> dict[str, dict[str, int]]:
        """Return where the guest has its VGPU."""
        return {
            provider_tree.data(pgpu_name(nodename, device)).uuid: {VGPU: count}
            for device, count in self.mdevs.get(consumer, {}).items()
        }


class FakeNUMAReshapeDriver(MediumFakeDriver):
    """Everything on the root (`modelled=False`), then on NUMA cells (compute.md §6.6).

    `cells` is cell → totals of VCPU and MEMORY_MB; `physical_functions` are cards, each below its
    cell. `guest_places` says where guests really are, if anybody knows: consumer uuid → cell or
    name of a card → class → amount.
    """

    def __init__(
        self,
        virtapi: VirtAPI,
        conf: cfg.ConfigOpts | None = None,
        modelled: bool = True,
        cells: Mapping[int, Mapping[str, int]] | None = None,
        physical_functions: Sequence[PhysicalFunction] = (),
        guest_places: Mapping[str, Mapping[int | str, Mapping[str, int]]] | None = None,
    ) -> None:
        super().__init__(virtapi, conf)
        self.modelled = modelled
        half = {"VCPU": self.vcpus // 2, "MEMORY_MB": self.memory_mb // 2}
        self.cells = dict({0: half, 1: half} if cells is None else cells)
        self.vcpus = sum(cell.get("VCPU", 0) for cell in self.cells.values())
        self.memory_mb = sum(cell.get("MEMORY_MB", 0) for cell in self.cells.values())
        self.physical_functions = list(physical_functions)
        self.guest_places = dict(guest_places or {})

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report the root and, in the new form, the cells and the cards below them."""
        now = numa.inventories_now(provider_tree, nodename, self._ownership(nodename))
        root_inventory = self._root_inventory(numa.inherited(now, nodename))
        functions = sum(len(card.virtual_functions) for card in self.physical_functions)
        if self.modelled:
            root_inventory = {"DISK_GB": root_inventory["DISK_GB"]}
        elif functions:
            root_inventory[SRIOV_NET_VF] = record(functions)
        numa.arrange(
            provider_tree,
            nodename,
            root_inventory,
            self._children(nodename, now) if self.modelled else [],
            self._ownership(nodename),
            allocations,
            lambda consumer: self._known_places(nodename, consumer),
            (*CELL_CLASSES, SRIOV_NET_VF),
        )

    def _children(self, nodename: str, now: Mapping[str, Inventory]) -> list[numa.CellProvider]:
        return cells_and_cards(
            nodename,
            self.cells,
            self.physical_functions,
            now,
            self._reserved(),
            self._get_allocation_ratios,
        )

    def _ownership(self, nodename: str) -> Ownership:
        return of_cells_and_cards(nodename, self.physical_functions)

    def places_of_guest(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        consumer: str,
        resources: Mapping[str, int],
    ) -> dict[str, dict[str, int]]:
        """Return where the guest is."""
        places = self._known_places(nodename, consumer) or {}
        return {provider_tree.data(name).uuid: dict(found) for name, found in places.items()}

    def _known_places(self, nodename: str, consumer: str) -> dict[str, Mapping[str, int]] | None:
        places = self.guest_places.get(consumer)
        if places is None:
            return None
        return {
            cell_name(nodename, place)
            if isinstance(place, int)
            else child_name(nodename, place): amounts
            for place, amounts in places.items()
        }


class FakeRCRenameDriver(MediumFakeDriver):
    """Four CUSTOM_FPGA (`renamed=False`), then four FPGA (compute.md §6.7)."""

    old_class = "CUSTOM_FPGA"
    new_class = "FPGA"
    devices = 4

    def __init__(
        self, virtapi: VirtAPI, conf: cfg.ConfigOpts | None = None, renamed: bool = True
    ) -> None:
        super().__init__(virtapi, conf)
        self.renamed = renamed

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report the root, with the class of this form; going back is a reshape as well."""
        name, former = self.new_class, self.old_class
        if not self.renamed:
            name, former = former, name
        rename_classes(provider_tree, nodename, {former: name}, allocations)
        inventory = self._root_inventory(provider_tree.data(nodename).inventory)
        provider_tree.update_inventory(nodename, inventory | {name: record(self.devices)})


class FakeSharedStorageDriver(MediumFakeDriver):
    """DISK_GB on the root (`shared=False`), then in a pool shared by aggregate (compute.md §6.9).

    The pool is this driver's own: a root provider `pool_name` whose uuid, like the aggregate's,
    follows from the name, so that all hosts mean the same one.
    """

    pool_name = "ssp"
    pool_gb = 500

    def __init__(
        self, virtapi: VirtAPI, conf: cfg.ConfigOpts | None = None, shared: bool = True
    ) -> None:
        super().__init__(virtapi, conf)
        self.shared = shared
        self.pool_uuid = str(uuid.uuid5(uuid.NAMESPACE_DNS, self.pool_name))
        self.aggregate_uuid = str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.pool_name}-aggregate"))

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report the root and, in the new form, the pool; the way back is not built."""
        inventory = self._root_inventory(provider_tree.data(nodename).inventory)
        if self.shared:
            del inventory["DISK_GB"]
            self._move_disk(provider_tree, nodename, allocations)
        provider_tree.update_inventory(nodename, inventory)

    def _move_disk(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None,
    ) -> None:
        if not provider_tree.exists(self.pool_uuid):
            provider_tree.new_root(self.pool_name, self.pool_uuid)
        provider_tree.update_inventory(self.pool_uuid, {"DISK_GB": record(self.pool_gb)})
        provider_tree.add_traits(self.pool_uuid, "MISC_SHARES_VIA_AGGREGATE", "STORAGE_DISK_SSD")
        provider_tree.add_aggregates(self.pool_uuid, self.aggregate_uuid)
        provider_tree.add_aggregates(nodename, self.aggregate_uuid)
        move_disk(provider_tree, nodename, provider_tree.data(self.pool_uuid), allocations)


class FakeBadReshapeDriver(MediumFakeDriver):
    """Always asks for a reshape, even while one is going on: a broken driver."""

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Raise ReshapeNeeded."""
        raise exceptions.ReshapeNeeded()


class FakeReshapeFailDriver(MediumFakeDriver):
    """Asks for a reshape, and then can't do it."""

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Raise ReshapeNeeded without allocations, and ReshapeFailed with them."""
        if allocations is None:
            raise exceptions.ReshapeNeeded()
        raise exceptions.ReshapeFailed(error="the fake hypervisor can't tell who has what")
