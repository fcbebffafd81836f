"""Rows of allocations."""

from collections.abc import Collection, Iterable
from typing import Any

import sqlalchemy as sa

from placement.domain.capacity import Entry, Slot, SlotUsage
from placement.domain.consumer import Holding, Owner
from placement.storage.consumers import OWNED, OWNER
from placement.storage.database.compiled import Compiled, Rows
from placement.storage.database.connection import Question
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.list_parameters import among
from placement.storage.of_provider import OfProvider
from placement.storage.tables import (
    allocations,
    consumers,
    inventories,
    resource_classes,
    resource_providers,
)

_MODIFIED = sa.func.coalesce(allocations.c.updated_at, allocations.c.created_at)
_OF_CONSUMER = Compiled(
    sa.select(
        *OWNER,
        resource_providers.c.uuid,
        resource_providers.c.generation,
        resource_classes.c.name,
        allocations.c.used,
        _MODIFIED,
    )
    .select_from(
        allocations.join(
            resource_providers, allocations.c.resource_provider_id == resource_providers.c.id
        )
        .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
        .join(OWNED, allocations.c.consumer_id == consumers.c.uuid)
    )
    .where(allocations.c.consumer_id == sa.bindparam("consumer"))
    .order_by(allocations.c.id)
)
_OF_PROVIDER = OfProvider(
    allocations.join(consumers, allocations.c.consumer_id == consumers.c.uuid).join(
        resource_classes, allocations.c.resource_class_id == resource_classes.c.id
    ),
    allocations.c.resource_provider_id,
    (
        consumers.c.uuid,
        consumers.c.generation,
        resource_classes.c.name,
        allocations.c.used,
        _MODIFIED,
    ),
    order=(allocations.c.resource_class_id, allocations.c.id),
    whole=3,
)
_ROWS_OF = Compiled(
    sa.select(
        allocations.c.consumer_id,
        allocations.c.resource_provider_id,
        allocations.c.resource_class_id,
        allocations.c.used,
        consumers.c.id,
    )
    .select_from(allocations.outerjoin(consumers, allocations.c.consumer_id == consumers.c.uuid))
    .where(among(allocations.c.consumer_id, "consumers"))
    .order_by(allocations.c.id)
)
_THEIRS = among(allocations.c.consumer_id, "consumers")
_USED = (
    sa.select(
        allocations.c.resource_provider_id,
        allocations.c.resource_class_id,
        sa.func.sum(allocations.c.used),
    )
    .join(resource_providers, allocations.c.resource_provider_id == resource_providers.c.id)
    .where(among(resource_providers.c.uuid, "providers"))
    .group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)
)
_BY_OTHERS = sa.func.sum(sa.case((_THEIRS, 0), else_=allocations.c.used))
#: by whether consumers are left out. An index has all that is asked of all consumers; consumers are
#: only in the rows themselves, of which a provider may have thousands
_USAGES = {
    False: Compiled(_USED.add_columns(sa.func.sum(allocations.c.used))),
    True: Compiled(_USED.add_columns(_BY_OTHERS)),
}
_USAGE_OF_PROVIDER = OfProvider(
    inventories.join(
        resource_classes, inventories.c.resource_class_id == resource_classes.c.id
    ).outerjoin(
        allocations,
        sa.and_(
            allocations.c.resource_provider_id == inventories.c.resource_provider_id,
            allocations.c.resource_class_id == inventories.c.resource_class_id,
        ),
    ),
    inventories.c.resource_provider_id,
    (resource_classes.c.name, sa.func.coalesce(sa.func.sum(allocations.c.used), 0)),
    order=(inventories.c.resource_class_id,),
    grouped=(inventories.c.resource_class_id, resource_classes.c.name),
)
_HAVING_ANY = Compiled(
    sa.select(resource_providers.c.id).where(
        among(resource_providers.c.id, "providers"),
        sa.exists().where(allocations.c.resource_provider_id == resource_providers.c.id),
    )
)
_DELETE = Compiled(sa.delete(allocations).where(among(allocations.c.consumer_id, "consumers")))
_INSERT = Compiled(sa.insert(allocations))


def of_consumer(database: Database, consumer: str) -> tuple[Owner | None, list[Holding]]:
    """Return the consumer's owner and allocations; None and an empty list if it has none.

    Very old data may have allocations without a consumer row; these aren't returned.
    """
    rows = database.ask(_OF_CONSUMER, consumer=consumer)
    owner = Owner(*rows[0][: len(OWNER)]) if rows else None
    return owner, [Holding(*row[len(OWNER) :]) for row in rows]


def of_provider(database: Database, uuid: str) -> tuple[int, Rows]:
    """Return the provider's generation and its allocations. Raises ProviderNotFound.

    Allocations are given as (consumer uuid, consumer generation, class, amount, row time).
    """
    return _OF_PROVIDER.ask(database, uuid)


def entries_of(connection: Connection, uuids: Collection[str]) -> tuple[list[Entry], set[int]]:
    """Return the allocations of these consumers, and the ids of those that have a consumer row.

    Allocations may be older than the table of consumers (rest-api.md 7.3). Their consumers have no
    row, and so no id.
    """
    return entries_in(connection.execute(*entries_question(uuids)))


def entries_question(uuids: Collection[str]) -> tuple[Compiled, dict[str, list[str]]]:
    """Return the question for the allocations of consumers."""
    return _ROWS_OF, {"consumers": list(uuids)}


def entries_in(rows: Iterable[tuple[Any, ...]]) -> tuple[list[Entry], set[int]]:
    """Return the answer to `entries_question`, as `entries_of` returns it."""
    entries, owners = [], set()
    for *entry, owner in rows:
        entries.append(Entry(*entry))
        owners.add(owner)
    return entries, owners - {None}


def usages_question(uuids: Collection[str], consumers: Collection[str]) -> Question:
    """Return the question for the usage of providers, in total and without `consumers`."""
    given = {"providers": list(uuids)}
    return _USAGES[bool(consumers)], given | ({"consumers": list(consumers)} if consumers else {})


def usages_in(rows: Iterable[tuple[Any, ...]]) -> dict[Slot, SlotUsage]:
    """Return the answer to `usages_question` by slot; unused slots are missing."""
    return {
        (provider_id, class_id): SlotUsage(int(until_now), int(by_others))
        for provider_id, class_id, until_now, by_others in rows
    }


def usage_of_provider(database: Database, uuid: str) -> tuple[int, dict[str, int]]:
    """Return the provider's generation, and the usage of each class in its inventory, 0 included.

    Raises ProviderNotFound.
    """
    generation, rows = _USAGE_OF_PROVIDER.ask(database, uuid)
    return generation, {name: int(used) for name, used in rows}


def insert(connection: Connection, entries: Iterable[Entry]) -> None:
    """Store the entries whose amount is not 0."""
    rows = [
        {
            "consumer_id": entry.consumer,
            "resource_provider_id": entry.provider_id,
            "resource_class_id": entry.class_id,
            "used": int(entry.amount),
        }
        for entry in entries
        if entry.amount
    ]
    if rows:
        connection.later(_INSERT, rows)


def delete(connection: Connection, consumers: Collection[str]) -> None:
    """Delete all allocations of the consumers."""
    connection.later(_DELETE, {"consumers": list(consumers)})


def having_any(connection: Connection, provider_ids: Collection[int]) -> set[int]:
    """Return the ids of those providers that have any allocations."""
    return set(connection.execute(_HAVING_ANY, {"providers": list(provider_ids)}).scalars())


def any_of_slot(connection: Connection, slot: Slot) -> bool:
    """Return whether one class of a provider has any allocations."""
    provider_id, class_id = slot
    question = sa.select(sa.literal(1)).where(
        allocations.c.resource_provider_id == provider_id,
        allocations.c.resource_class_id == class_id,
    )
    return connection.execute(question.limit(1)).first() is not None
