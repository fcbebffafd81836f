"""Drivers from before update_provider_tree, for the fallbacks of compute.md §4.6."""

from typing import TYPE_CHECKING, Any

from compute.provider_tree.inventory_record import Inventory, sized
from virt.fake.driver import MediumFakeDriver

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree


class ResourceOnlyDriver(MediumFakeDriver):
    """Implements get_available_resource alone."""

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: dict[str, Any] | None = None,
    ) -> None:
        """Raise NotImplementedError, as a driver from before this method."""
        raise NotImplementedError


class LegacyInventoryDriver(ResourceOnlyDriver):
    """Implements get_inventory, with what it knows: no ratios, nothing reserved."""

    def get_inventory(self, nodename: str) -> Inventory:
        """Return the root's inventory without `allocation_ratio` and `reserved`."""
        return {name: sized(total) for name, total in self._totals(nodename).items()}
