"""Rows of inventories."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from placement.domain.capacity import Inventory, Slot
from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Question
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.list_parameters import among
from placement.storage.of_provider import OfProvider
from placement.storage.tables import allocations, inventories, resource_classes
from placement.storage.tables import resource_providers as providers

RECORD = (
    inventories.c.total,
    inventories.c.reserved,
    inventories.c.min_unit,
    inventories.c.max_unit,
    inventories.c.step_size,
    inventories.c.allocation_ratio,
)
_MODIFIED = sa.func.coalesce(inventories.c.updated_at, inventories.c.created_at)
_OF_PROVIDER = OfProvider(
    inventories.join(resource_classes, inventories.c.resource_class_id == resource_classes.c.id),
    inventories.c.resource_provider_id,
    (resource_classes.c.name, *RECORD, _MODIFIED),
    order=(inventories.c.resource_class_id,),
)
_SLOTS = sa.select(inventories.c.resource_provider_id, inventories.c.resource_class_id, *RECORD)
_SLOTS_OF = Compiled(
    _SLOTS.join(providers, inventories.c.resource_provider_id == providers.c.id).where(
        among(providers.c.uuid, "providers")
    )
)
_IN_USE = Compiled(
    sa.select(
        allocations.c.resource_provider_id,
        allocations.c.resource_class_id,
        resource_classes.c.name,
    )
    .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
    .join(providers, allocations.c.resource_provider_id == providers.c.id)
    .where(among(providers.c.uuid, "providers"))
    .distinct()
    .order_by(allocations.c.resource_class_id)
)
_INSERT = Compiled(sa.insert(inventories))
_DELETE_OF = Compiled(
    sa.delete(inventories).where(among(inventories.c.resource_provider_id, "providers"))
)


def of_provider(database: Database, uuid: str) -> tuple[int, dict[str, Inventory]]:
    """Return the provider's generation, and its inventories by class name with their row times.

    Raises ProviderNotFound.
    """
    generation, rows = _OF_PROVIDER.ask(database, uuid)
    return generation, {name: Inventory(*record) for name, *record in rows}


def slots_question(uuids: Collection[str]) -> Question:
    """Return the question for the inventories of the providers."""
    return _SLOTS_OF, {"providers": list(uuids)}


def slots_in(rows: Iterable[tuple[Any, ...]]) -> dict[Slot, Inventory]:
    """Return the answer to `slots_question` by slot."""
    return {(provider_id, class_id): Inventory(*record) for provider_id, class_id, *record in rows}


def replace(
    connection: Connection, provider_ids: Collection[int], stock: Mapping[Slot, Inventory]
) -> None:
    """Replace all inventories of the providers by `stock`."""
    if provider_ids:
        connection.later(_DELETE_OF, {"providers": list(provider_ids)})
    insert(connection, stock)


def insert(connection: Connection, stock: Mapping[Slot, Inventory]) -> None:
    """Store inventories for slots that have no inventory."""
    if not stock:
        return
    connection.later(_INSERT, [_row(slot) | record(stock[slot]) for slot in stock])


def update(connection: Connection, slot: Slot, inventory: Inventory) -> bool:
    """Overwrite one inventory; return False if it doesn't exist."""
    statement = sa.update(inventories).where(*_at(slot)).values(record(inventory))
    return connection.execute(statement).rowcount > 0


def delete(connection: Connection, slot: Slot) -> bool:
    """Delete one inventory; return False if it doesn't exist."""
    return connection.execute(sa.delete(inventories).where(*_at(slot))).rowcount > 0


def exists(connection: Connection, slot: Slot) -> bool:
    """Return whether the provider has inventory of the class."""
    return connection.execute(sa.select(inventories.c.id).where(*_at(slot))).first() is not None


def in_use_question(uuids: Collection[str]) -> Question:
    """Return the question for the slots of the providers that have allocations.

    The answer has provider id, class id and class name of each, ordered by class id.
    """
    return _IN_USE, {"providers": list(uuids)}


def _at(slot: Slot) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    provider_id, class_id = slot
    return (
        inventories.c.resource_provider_id == provider_id,
        inventories.c.resource_class_id == class_id,
    )


def _row(slot: Slot) -> dict[str, int]:
    return {"resource_provider_id": slot[0], "resource_class_id": slot[1]}


def record(inventory: Inventory) -> dict[str, float]:
    """Return the values of the columns `RECORD`, as they are stored."""
    return {
        "total": int(inventory.total),
        "reserved": int(inventory.reserved),
        "min_unit": int(inventory.min_unit),
        "max_unit": int(inventory.max_unit),
        "step_size": int(inventory.step_size),
        "allocation_ratio": float(inventory.allocation_ratio),
    }
