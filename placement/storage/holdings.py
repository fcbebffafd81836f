"""All that consumers hold, wherever they hold it, with their owners (extensions.md 2)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.storage.database.engine import Connection
from placement.storage.driver.list_parameters import among, parts
from placement.storage.tables import (
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    users,
)
from placement.storage.tables import resource_providers as providers

#: rows that are fetched from the driver together
_BATCH = 2048


class HeldRow(NamedTuple):
    """An allocation of a consumer, with the consumer's attributes by name.

    :param root_id: database id of the root of the provider's tree
    """

    consumer: str
    project: str
    user: str
    generation: int
    type_name: str | None
    provider_uuid: str
    provider_generation: int
    resource_class: str
    used: int
    root_id: int


_HELD = (
    sa.select(
        consumers.c.uuid,
        projects.c.external_id,
        users.c.external_id,
        consumers.c.generation,
        consumer_types.c.name,
        providers.c.uuid,
        providers.c.generation,
        resource_classes.c.name,
        allocations.c.used,
        providers.c.root_provider_id,
    )
    .select_from(
        consumers.join(allocations, allocations.c.consumer_id == consumers.c.uuid)
        .join(projects, consumers.c.project_id == projects.c.id)
        .join(users, consumers.c.user_id == users.c.id)
        .outerjoin(consumer_types, consumers.c.consumer_type_id == consumer_types.c.id)
        .join(providers, allocations.c.resource_provider_id == providers.c.id)
        .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
    )
    .order_by(consumers.c.id, allocations.c.id)
)
_here = allocations.alias("here")
_place = providers.alias("place")
_HOLDERS = (
    sa.select(_here.c.consumer_id)
    .select_from(_here.join(_place, _here.c.resource_provider_id == _place.c.id))
    .where(among(_place.c.root_provider_id, "roots"))
)
_OF_TREES = _HELD.where(consumers.c.uuid.in_(_HOLDERS))
_OF_CONSUMERS = _HELD.where(among(consumers.c.uuid, "consumers"))

_OF_PROVIDERS = (
    sa.select(
        providers.c.uuid,
        providers.c.generation,
        allocations.c.consumer_id,
        consumers.c.generation,
        resource_classes.c.name,
        allocations.c.used,
    )
    .select_from(
        providers.outerjoin(
            allocations.join(consumers, allocations.c.consumer_id == consumers.c.uuid).join(
                resource_classes, allocations.c.resource_class_id == resource_classes.c.id
            ),
            allocations.c.resource_provider_id == providers.c.id,
        )
    )
    .where(among(providers.c.uuid, "providers"), providers.c.root_provider_id.is_not(None))
    .order_by(providers.c.id, allocations.c.resource_class_id, allocations.c.id)
)


def of_trees(connection: Connection, root_ids: Sequence[int]) -> Iterator[HeldRow]:
    """Yield what the consumers hold that hold anything in these trees; each one's in a row."""
    return _held(connection, _OF_TREES, {"roots": list(root_ids)})


def of_consumers(connection: Connection, uuids: Sequence[str]) -> Iterator[HeldRow]:
    """Yield what these consumers hold, each one's in a row; nothing for unknown consumers."""
    for part in parts(dict.fromkeys(uuids)):
        yield from _held(connection, _OF_CONSUMERS, {"consumers": part})


def of_providers(connection: Connection, uuids: Sequence[str]) -> Iterator[Sequence[object]]:
    """Yield (provider uuid, provider generation, consumer, consumer generation, class, amount).

    Each provider's rows stand together. One that nobody holds anything of has one row, with None
    from the consumer on; unknown providers have none.
    """
    found = connection.execute(_OF_PROVIDERS, {"providers": list(uuids)})
    for part in found.partitions(_BATCH):
        yield from part


def _held(
    connection: Connection, question: sa.Select[Any], values: Mapping[str, object]
) -> Iterator[HeldRow]:
    for part in connection.execute(question, values).partitions(_BATCH):
        yield from (HeldRow(*row) for row in part)
