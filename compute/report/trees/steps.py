"""The steps that make placement look like a ProviderTree (compute.md §3.9).

A step is one write, or one read that follows a write. `apply` sends it, with the parts of the
report client. `imagine` only changes a tree as the step would. `str()` describes the step.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.inventory_record import Inventory
from compute.report.trees.associations import Associations
from compute.report.trees.cache import ProviderCache
from compute.report.trees.properties import Properties
from compute.report.trees.providers import Providers
from compute.report.trees.reshaper import Inventories, Reshaper
from compute.report.trees.trees import Trees
from compute.report.wire.context import Context


@dataclass(frozen=True)
class Parts:
    """What steps are applied with."""

    cache: ProviderCache
    providers: Providers
    associations: Associations
    trees: Trees
    properties: Properties
    reshaper: Reshaper


@dataclass(frozen=True)
class AddProvider:
    """Create the provider, unless placement turns out to have it: then read it."""

    uuid: str
    name: str
    parent_uuid: str | None
    #: whether placement turned out to have it: then it isn't created again
    was_there: bool = False

    def __str__(self) -> str:
        below = f" below {self.parent_uuid}" if self.parent_uuid else ""
        return f"create provider {self.name} ({self.uuid}){below}"

    def apply(self, parts: Parts, context: Context) -> None:
        """Create it, or read it. Raises ResourceProviderVanished if it was there and is deleted."""
        known = parts.cache.tree.exists(self.uuid)
        if self.was_there and not known and not parts.trees.load(context, self.uuid):
            raise exceptions.ResourceProviderVanished(uuid=self.uuid)
        parts.trees.ensure(context, self.uuid, self.name, self.parent_uuid)

    def imagine(self, tree: ProviderTree) -> None:
        """Add the provider, without a generation, to the tree."""
        if self.parent_uuid is None:
            tree.new_root(self.name, self.uuid)
        else:
            tree.new_child(self.name, self.parent_uuid, self.uuid)


@dataclass(frozen=True)
class Reshape:
    """Move inventories and allocations in one transaction."""

    inventories: Inventories
    allocations: Allocations = field(repr=False)

    def __str__(self) -> str:
        return (
            f"reshape {len(self.inventories)} providers "
            f"and the allocations of {len(self.allocations)} consumers"
        )

    @property
    def uuid(self) -> str:
        """Return the uuid of one of the providers."""
        return next(iter(self.inventories), "")

    def apply(self, parts: Parts, context: Context) -> None:
        """Reshape. Raises what `Reshaper.reshape` raises."""
        parts.reshaper.reshape(context, self.inventories, self.allocations)

    def imagine(self, tree: ProviderTree) -> None:
        """Give the providers of the tree their new inventories."""
        for uuid, record in self.inventories.items():
            tree.update_inventory(uuid, record["inventories"])


@dataclass(frozen=True)
class RereadInventory:
    """Read back what the reshape made of the provider, its generation above all.

    With `all_of_it` traits and aggregates are read too. That is for a provider whose traits or
    aggregates are set next: at the new generation other writers may have changed them, and a write
    of ours must not undo that.
    """

    uuid: str
    all_of_it: bool = False

    def __str__(self) -> str:
        return f"read {'all' if self.all_of_it else 'the inventory'} of {self.uuid}"

    def apply(self, parts: Parts, context: Context) -> None:
        """Read. Raises ResourceProviderUpdateConflict if traits or aggregates changed."""
        if not self.all_of_it:
            parts.associations.refresh_inventory(context, self.uuid)
            return
        before = parts.cache.tree.data(self.uuid)
        parts.associations.refresh(context, self.uuid, force=True, refresh_sharing=False)
        after = parts.cache.tree.data(self.uuid)
        if (before.traits, before.aggregates) != (after.traits, after.aggregates):
            raise exceptions.ResourceProviderUpdateConflict(
                uuid=self.uuid,
                generation=before.generation or 0,
                error="its traits or aggregates changed during the reshape",
            )

    def imagine(self, tree: ProviderTree) -> None:
        """Change nothing: reading has no effect."""


@dataclass(frozen=True)
class RemoveProvider:
    """Delete the provider."""

    uuid: str

    def __str__(self) -> str:
        return f"delete provider {self.uuid}"

    def apply(self, parts: Parts, context: Context) -> None:
        """Delete the provider. Raises what `Providers.delete` raises."""
        parts.providers.delete(context, self.uuid)

    def imagine(self, tree: ProviderTree) -> None:
        """Take the provider out of the tree."""
        tree.forget(self.uuid)


@dataclass(frozen=True)
class SetInventory:
    """Replace the provider's inventory, creating custom resource classes."""

    uuid: str
    inventory: Inventory
    generation: int | None = None

    def __str__(self) -> str:
        return f"set inventory of {self.uuid} to {self.inventory}"

    def apply(self, parts: Parts, context: Context) -> None:
        """Set the inventory. Raises what `Properties.set_inventory` raises."""
        parts.properties.set_inventory(
            context, self.uuid, self.inventory, generation=self.generation
        )

    def imagine(self, tree: ProviderTree) -> None:
        """Set the inventory in the tree."""
        tree.update_inventory(self.uuid, self.inventory)


@dataclass(frozen=True)
class SetAggregates:
    """Replace the provider's aggregates."""

    uuid: str
    aggregates: frozenset[str]
    generation: int | None = None

    def __str__(self) -> str:
        return f"set aggregates of {self.uuid} to {sorted(self.aggregates)}"

    def apply(self, parts: Parts, context: Context) -> None:
        """Set the aggregates. Raises what `Properties.set_aggregates` raises."""
        parts.properties.set_aggregates(
            context, self.uuid, self.aggregates, generation=self.generation
        )

    def imagine(self, tree: ProviderTree) -> None:
        """Set the aggregates in the tree."""
        tree.update_aggregates(self.uuid, self.aggregates)


@dataclass(frozen=True)
class SetTraits:
    """Replace the provider's traits, creating custom ones."""

    uuid: str
    traits: frozenset[str]
    generation: int | None = None

    def __str__(self) -> str:
        return f"set traits of {self.uuid} to {sorted(self.traits)}"

    def apply(self, parts: Parts, context: Context) -> None:
        """Set the traits. Raises what `Properties.set_traits` raises."""
        parts.properties.set_traits(context, self.uuid, self.traits, generation=self.generation)

    def imagine(self, tree: ProviderTree) -> None:
        """Set the traits in the tree."""
        tree.update_traits(self.uuid, self.traits)


PropertyStep = SetInventory | SetAggregates | SetTraits

Step = AddProvider | Reshape | RereadInventory | RemoveProvider | PropertyStep
