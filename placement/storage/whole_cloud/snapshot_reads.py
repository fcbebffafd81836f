"""The queries of the candidates' snapshot: whole tables, or the rows of some providers.

See architecture.rst D4.

A table is read with one statement for all providers, or for a thousand of them, never with one for
each provider. `ids` is None for all providers.
"""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Connection
from placement.storage.driver.list_parameters import among
from placement.storage.tables import (
    allocations,
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)

#: the maximum number of ids in one statement; every database takes that many
IDS_PER_STATEMENT = 1000

Ids = Sequence[int] | None
Rows = list[tuple[Any, ...]]
#: of all rows, and of those of some ids
Question = tuple[sa.Select, Compiled]


def _by(column: sa.Column, *shown: sa.ColumnElement, grouped: Sequence[sa.Column] = ()) -> Question:
    """Return two queries: of all rows, and of the rows whose `column` is among `ids`."""
    whole = sa.select(*shown).group_by(*grouped)
    return whole, Compiled(whole.where(among(column, "ids")))


_ROOT = sa.func.coalesce(resource_providers.c.root_provider_id, resource_providers.c.id)
GENERATION = sa.func.coalesce(resource_providers.c.generation, 0)
PROVIDERS = _by(
    resource_providers.c.id,
    resource_providers.c.id,
    resource_providers.c.uuid,
    resource_providers.c.parent_provider_id,
    _ROOT,
    GENERATION,
)
STOCKS = _by(
    inventories.c.resource_provider_id,
    inventories.c.resource_provider_id,
    inventories.c.resource_class_id,
    inventories.c.total,
    inventories.c.reserved,
    inventories.c.min_unit,
    inventories.c.max_unit,
    inventories.c.step_size,
    inventories.c.allocation_ratio,
)
_SLOT = (allocations.c.resource_provider_id, allocations.c.resource_class_id)
USAGES = _by(
    allocations.c.resource_provider_id,
    *_SLOT,
    # some drivers return a sum as a Decimal, which is slow
    sa.cast(sa.func.sum(allocations.c.used), sa.BigInteger),
    grouped=_SLOT,
)
_HOLDERS = _by(
    allocations.c.resource_provider_id,
    allocations.c.resource_provider_id,
    allocations.c.consumer_id,
    allocations.c.resource_class_id,
    allocations.c.used,
)
PROVIDER_TRAITS = _by(
    resource_provider_traits.c.resource_provider_id,
    resource_provider_traits.c.resource_provider_id,
    resource_provider_traits.c.trait_id,
)
MEMBERSHIPS = _by(
    resource_provider_aggregates.c.resource_provider_id,
    resource_provider_aggregates.c.resource_provider_id,
    resource_provider_aggregates.c.aggregate_id,
)
_AGGREGATE_UUIDS = _by(
    placement_aggregates.c.id, placement_aggregates.c.id, placement_aggregates.c.uuid
)
_CLASS_NAMES = sa.select(resource_classes.c.id, resource_classes.c.name)
_TRAIT_NAMES = sa.select(traits.c.id, traits.c.name)


def _rows(connection: Connection, questions: Question, ids: Ids) -> list[Any]:
    if ids is None:
        return list(connection.execute(questions[0]).all())
    found: list[Any] = []
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        part = list(ids[start : start + IDS_PER_STATEMENT])
        found += connection.execute(questions[1], {"ids": part}).all()
    return found


def providers(connection: Connection, ids: Ids = None) -> Rows:
    """Return (id, uuid, parent id or None, root id, generation), ordered by id."""
    return sorted(_rows(connection, PROVIDERS, ids), key=lambda row: row[0])


def stocks(connection: Connection, ids: Ids = None) -> Rows:
    """Return (provider, class) and total, reserved, min_unit, max_unit, step_size, ratio."""
    return _rows(connection, STOCKS, ids)


def usages(connection: Connection, ids: Ids = None) -> Rows:
    """Return (provider, class, usage). Where there are no allocations, there is no row."""
    return _rows(connection, USAGES, ids)


def holders(connection: Connection, ids: Ids) -> Rows:
    """Return (provider, uuid of consumer, class, amount) of every allocation."""
    return _rows(connection, _HOLDERS, ids)


def provider_traits(connection: Connection, ids: Ids = None) -> Rows:
    """Return the pairs (provider id, trait id)."""
    return _rows(connection, PROVIDER_TRAITS, ids)


def memberships(connection: Connection, ids: Ids = None) -> Rows:
    """Return the pairs (provider id, aggregate id)."""
    return _rows(connection, MEMBERSHIPS, ids)


def aggregate_uuids(connection: Connection, ids: Collection[int] | None = None) -> dict[int, str]:
    """Return the uuids of aggregates by id."""
    wanted = None if ids is None else sorted(ids)
    return {key: uuid for key, uuid in _rows(connection, _AGGREGATE_UUIDS, wanted)}


def class_names(connection: Connection) -> dict[int, str]:
    """Return the names of all resource classes by id."""
    return {key: name for key, name in connection.execute(_CLASS_NAMES)}


def trait_names(connection: Connection) -> dict[int, str]:
    """Return the names of all traits by id."""
    return {key: name for key, name in connection.execute(_TRAIT_NAMES)}
