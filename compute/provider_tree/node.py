"""One provider as ProviderTree keeps it, and the public snapshot of one (compute.md §2.1)."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from compute.provider_tree.inventory_record import Inventory


@dataclass(frozen=True)
class Resource:
    """One assignable thing behind an inventory, such as a persistent memory namespace."""

    provider_uuid: str
    resource_class: str
    identifier: str


class ProviderData(NamedTuple):
    """What is known of one provider. A copy: editing what it holds leaves the tree alone.

    `inventory` maps a resource class to its record, `traits` and `aggregates` are sets of strings,
    `resources` maps a resource class to the set of assignable things behind it. `generation` and
    `parent_uuid` may be None.
    """

    uuid: str
    name: str
    generation: int | None
    parent_uuid: str | None
    inventory: Inventory
    traits: set[str]
    aggregates: set[str]
    resources: dict[str, set[Any]]


class ProviderNode:
    """A provider and its children. It does no locking: that is the tree's task."""

    __slots__ = (
        "aggregates",
        "children",
        "generation",
        "inventory",
        "name",
        "parent_uuid",
        "resources",
        "traits",
        "uuid",
    )

    def __init__(
        self,
        name: str,
        uuid: str,
        generation: int | None = None,
        parent_uuid: str | None = None,
    ) -> None:
        self.uuid = uuid
        self.name = name
        self.generation = generation
        self.parent_uuid = parent_uuid
        self.children: dict[str, ProviderNode] = {}
        self.inventory: Inventory = {}
        self.traits: set[str] = set()
        self.aggregates: set[str] = set()
        self.resources: dict[str, set[Any]] = {}

    def walk(self) -> Iterator[ProviderNode]:
        """Yield this provider and its descendants: depth first, children in the order they came."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children.values()))

    def data(self) -> ProviderData:
        """Return a snapshot that shares nothing with this node."""
        return ProviderData(
            self.uuid,
            self.name,
            self.generation,
            self.parent_uuid,
            copied_inventory(self.inventory),
            set(self.traits),
            set(self.aggregates),
            copied_resources(self.resources),
        )

    def copy_alone(self) -> ProviderNode:
        """Return an independent copy without the children."""
        twin = ProviderNode(self.name, self.uuid, self.generation, self.parent_uuid)
        twin.inventory = copied_inventory(self.inventory)
        twin.traits = set(self.traits)
        twin.aggregates = set(self.aggregates)
        if self.resources:
            twin.resources = copied_resources(self.resources)
        return twin

    def inventory_differs(self, wanted: Mapping[str, Mapping[str, object]]) -> bool:
        """Say whether `wanted` asks for something this inventory doesn't have already.

        Fields that `wanted` leaves out are placement's to fill in, so they count as equal
        (compute.md §2.6).
        """
        if set(self.inventory) != set(wanted):
            return True
        absent = object()
        return any(
            self.inventory[resource_class].get(field, absent) != value
            for resource_class, record in wanted.items()
            for field, value in record.items()
        )

    def traits_differ(self, wanted: Iterable[str]) -> bool:
        """Say whether `wanted` is another set than these traits."""
        return self.traits != set(wanted)

    def aggregates_differ(self, wanted: Iterable[str]) -> bool:
        """Say whether `wanted` is another set than these aggregates."""
        return self.aggregates != set(wanted)

    def take_properties(self, row: Mapping[str, Any]) -> None:
        """Have what a row of placement tells of inventory, aggregates and traits."""
        self.inventory = copied_inventory(row["inventories"])
        self.aggregates = set(row["aggregates"])
        self.traits = set(row["traits"])

    def note_generation(self, generation: int | None) -> None:
        """Remember `generation`, unless there is none to remember."""
        if generation is not None:
            self.generation = generation


def copied_inventory(inventory: Mapping[str, Mapping[str, object]]) -> Inventory:
    """Return an independent copy. Records hold plain numbers, so one level is deep enough."""
    return {resource_class: dict(record) for resource_class, record in inventory.items()}


def copied_resources(resources: Mapping[str, set[Any]]) -> dict[str, set[object]]:
    """Return an independent copy, the assignable things in it included."""
    return copy.deepcopy(dict(resources))
