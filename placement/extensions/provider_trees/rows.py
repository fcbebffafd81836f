"""Reads which trees there are, and all that belongs to their providers (extensions.md 2).

Each function is one statement for any number of trees. The statements have the database ids of the
roots as parameters and join by root, so that they don't name each provider.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.domain.provider_filter import ProviderFilter
from placement.storage import inventories as inventory_rows
from placement.storage.database.engine import Connection
from placement.storage.driver.list_parameters import among
from placement.storage.provider_search import SearchShape, conditions, prepared
from placement.storage.tables import (
    allocations,
    consumers,
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    traits,
)
from placement.storage.tables import resource_providers as providers

#: rows that are fetched from the driver together
_BATCH = 2048

#: rows whose first column is the id of a provider; the rows of one provider follow each other
Rows = Iterator[Sequence[Any]]


class Root(NamedTuple):
    """The root of a tree by database id, and the number of providers in the tree."""

    id: int
    size: int


class TreePlace(NamedTuple):
    """A provider and where it is in its tree, by database ids."""

    id: int
    uuid: str
    name: str
    generation: int
    parent_id: int | None
    root_id: int


_root = providers.alias("root")
_SIZE = (
    sa.select(sa.func.count(providers.c.id))
    .where(providers.c.root_provider_id == _root.c.id)
    .correlate(_root)
    .scalar_subquery()
)
_ROOTS = (
    sa.select(_root.c.id, _SIZE)
    .where(_root.c.root_provider_id == _root.c.id)
    .order_by(_root.c.uuid)
)


def roots(
    connection: Connection,
    wanted: ProviderFilter,
    after: str | None = None,
    limit: int | None = None,
) -> Iterator[Root]:
    """Yield the roots of the trees in which a provider passes the filter, ordered by uuid.

    Raises BadRequest if a trait or a resource class doesn't exist.

    :param after: a uuid: only roots with greater uuids are yielded. There needn't be such a root
    :param limit: how many roots to yield at most
    """
    search = prepared(connection, wanted)
    if search is None:
        return
    shape, values = search
    if after is not None:
        values["after"] = after
    if limit is not None:
        values["limit"] = limit
    question = _statement(shape, after is not None, limit is not None)
    for batch in connection.execute(question, values).partitions(_BATCH):
        yield from (Root(*row) for row in batch)


def refuse_unknown(connection: Connection, wanted: ProviderFilter) -> None:
    """Raise BadRequest if a trait or a resource class doesn't exist."""
    prepared(connection, wanted)


@functools.lru_cache(maxsize=256)
def _statement(shape: SearchShape, is_continued: bool, is_limited: bool) -> sa.Select[Any]:
    """Return the statement for filters of one shape; the values of a filter are parameters."""
    question = _ROOTS
    chosen = conditions(shape)
    if chosen:
        trees = sa.select(providers.c.root_provider_id).where(*chosen)
        question = question.where(_root.c.id.in_(trees))
    if is_continued:
        question = question.where(_root.c.uuid > sa.bindparam("after"))
    if is_limited:
        question = question.limit(sa.bindparam("limit", type_=sa.Integer))
    return question


_IN_TREES = among(providers.c.root_provider_id, "roots")
_PLACES = (
    sa.select(
        providers.c.id,
        providers.c.uuid,
        providers.c.name,
        providers.c.generation,
        providers.c.parent_provider_id,
        providers.c.root_provider_id,
    )
    .where(_IN_TREES)
    .order_by(providers.c.id)
)
_INVENTORIES = (
    sa.select(inventories.c.resource_provider_id, resource_classes.c.name, *inventory_rows.RECORD)
    .select_from(
        inventories.join(
            resource_classes, inventories.c.resource_class_id == resource_classes.c.id
        ).join(providers, inventories.c.resource_provider_id == providers.c.id)
    )
    .where(_IN_TREES)
    .order_by(inventories.c.resource_provider_id, inventories.c.resource_class_id)
)
_TRAITS = (
    sa.select(resource_provider_traits.c.resource_provider_id, traits.c.name)
    .select_from(
        resource_provider_traits.join(
            traits, resource_provider_traits.c.trait_id == traits.c.id
        ).join(providers, resource_provider_traits.c.resource_provider_id == providers.c.id)
    )
    .where(_IN_TREES)
    .order_by(resource_provider_traits.c.resource_provider_id, resource_provider_traits.c.trait_id)
)
_MEMBERS = resource_provider_aggregates.c
_AGGREGATES = (
    sa.select(_MEMBERS.resource_provider_id, placement_aggregates.c.uuid)
    .select_from(
        resource_provider_aggregates.join(
            placement_aggregates, _MEMBERS.aggregate_id == placement_aggregates.c.id
        ).join(providers, _MEMBERS.resource_provider_id == providers.c.id)
    )
    .where(_IN_TREES)
    .order_by(_MEMBERS.resource_provider_id, _MEMBERS.aggregate_id)
)
_USED = sa.func.coalesce(sa.func.sum(allocations.c.used), 0)
_USAGES = (
    sa.select(
        inventories.c.resource_provider_id,
        resource_classes.c.name,
        # some drivers return a sum as a decimal number
        sa.cast(_USED, sa.BigInteger),
    )
    .select_from(
        inventories.join(resource_classes, inventories.c.resource_class_id == resource_classes.c.id)
        .join(providers, inventories.c.resource_provider_id == providers.c.id)
        .outerjoin(
            allocations,
            sa.and_(
                allocations.c.resource_provider_id == inventories.c.resource_provider_id,
                allocations.c.resource_class_id == inventories.c.resource_class_id,
            ),
        )
    )
    .where(_IN_TREES)
    .group_by(
        inventories.c.resource_provider_id,
        inventories.c.resource_class_id,
        resource_classes.c.name,
    )
    .order_by(inventories.c.resource_provider_id, inventories.c.resource_class_id)
)
_ALLOCATIONS = (
    sa.select(
        allocations.c.resource_provider_id,
        allocations.c.consumer_id,
        consumers.c.generation,
        resource_classes.c.name,
        allocations.c.used,
    )
    .select_from(
        allocations.join(consumers, allocations.c.consumer_id == consumers.c.uuid)
        .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
        .join(providers, allocations.c.resource_provider_id == providers.c.id)
    )
    .where(_IN_TREES)
    .order_by(allocations.c.resource_provider_id, allocations.c.resource_class_id, allocations.c.id)
)


def places(connection: Connection, root_ids: Sequence[int]) -> list[TreePlace]:
    """Return all providers of the trees, ordered by id."""
    return [TreePlace(*row) for row in connection.execute(_PLACES, {"roots": list(root_ids)})]


def inventory_values(connection: Connection, root_ids: Sequence[int]) -> Rows:
    """Yield (provider id, class), then the values of `inventories.RECORD`."""
    return _rows(connection, _INVENTORIES, root_ids)


def trait_names(connection: Connection, root_ids: Sequence[int]) -> Rows:
    """Yield (provider id, trait)."""
    return _rows(connection, _TRAITS, root_ids)


def aggregate_uuids(connection: Connection, root_ids: Sequence[int]) -> Rows:
    """Yield (provider id, uuid of an aggregate)."""
    return _rows(connection, _AGGREGATES, root_ids)


def usages(connection: Connection, root_ids: Sequence[int]) -> Rows:
    """Yield (provider id, class, usage) for each class in inventory, also if nothing is used."""
    return _rows(connection, _USAGES, root_ids)


def held(connection: Connection, root_ids: Sequence[int]) -> Rows:
    """Yield (provider id, consumer uuid, consumer generation, class, amount).

    Very old data may have allocations without a consumer row; these are left out.
    """
    return _rows(connection, _ALLOCATIONS, root_ids)


_named = providers.alias("named")
_IN_TREES_OF_NAMED = (
    sa.select(sa.literal(1))
    .where(
        among(providers.c.id, "ids"),
        providers.c.root_provider_id.in_(
            sa.select(_named.c.root_provider_id).where(among(_named.c.uuid, "uuids"))
        ),
    )
    .limit(1)
)


def have_any(connection: Connection, uuids: Sequence[str], ids: Iterable[int]) -> bool:
    """Return whether any provider of `ids` is in the tree of a provider of `uuids`."""
    rows = connection.execute(_IN_TREES_OF_NAMED, {"uuids": list(uuids), "ids": list(ids)})
    return rows.first() is not None


def _rows(connection: Connection, question: sa.Select[Any], root_ids: Sequence[int]) -> Rows:
    for batch in connection.execute(question, {"roots": list(root_ids)}).partitions(_BATCH):
        yield from batch
