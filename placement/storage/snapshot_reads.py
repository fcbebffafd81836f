"""What the candidates' snapshot reads: whole tables, or the rows of some providers (DESIGN D4).

One statement per table and set of providers, never one per provider. `ids` None means all.
"""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from placement.storage.engine import Connection
from placement.storage.ratios import exact
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

#: how many ids one statement names; every database takes that many
IDS_PER_STATEMENT = 1000

Ids = Sequence[int] | None
Rows = list[tuple[Any, ...]]


def _by(column: sa.Column, *shown: sa.ColumnElement) -> tuple[sa.Select, sa.Select]:
    """The question about all rows, and the one about those with `column` among the ids."""
    whole = sa.select(*shown)
    return whole, whole.where(column.in_(sa.bindparam("ids", expanding=True)))


_ROOT = sa.func.coalesce(resource_providers.c.root_provider_id, resource_providers.c.id)
_PROVIDERS = _by(
    resource_providers.c.id,
    resource_providers.c.id,
    resource_providers.c.uuid,
    resource_providers.c.parent_provider_id,
    _ROOT,
)
_INVENTORIES = _by(
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
_USAGES = tuple(
    question.group_by(*_SLOT)
    for question in _by(allocations.c.resource_provider_id, *_SLOT, sa.func.sum(allocations.c.used))
)
_TRAITS = _by(
    resource_provider_traits.c.resource_provider_id,
    resource_provider_traits.c.resource_provider_id,
    resource_provider_traits.c.trait_id,
)
_AGGREGATES = _by(
    resource_provider_aggregates.c.resource_provider_id,
    resource_provider_aggregates.c.resource_provider_id,
    resource_provider_aggregates.c.aggregate_id,
)
_AGGREGATE_UUIDS = _by(
    placement_aggregates.c.id, placement_aggregates.c.id, placement_aggregates.c.uuid
)
_CLASS_NAMES = sa.select(resource_classes.c.id, resource_classes.c.name)
_TRAIT_NAMES = sa.select(traits.c.id, traits.c.name)


def _rows(connection: Connection, questions: Sequence[sa.Select], ids: Ids) -> list[Any]:
    if ids is None:
        return list(connection.execute(questions[0]).all())
    found: list[Any] = []
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        part = list(ids[start : start + IDS_PER_STATEMENT])
        found += connection.execute(questions[1], {"ids": part}).all()
    return found


def providers(connection: Connection, ids: Ids = None) -> Rows:
    """(id, uuid, parent id or None, root id), by id."""
    return sorted(_rows(connection, _PROVIDERS, ids), key=lambda row: row[0])


def stocks(connection: Connection, ids: Ids = None) -> Rows:
    """(provider, class, total, reserved, min_unit, max_unit, step_size, allocation_ratio)."""
    return _rows(connection, _INVENTORIES, ids)


def usages(connection: Connection, ids: Ids = None) -> Rows:
    """(provider, class, what is taken of it); where nothing is taken there is no row."""
    return _rows(connection, _USAGES, ids)


def provider_traits(connection: Connection, ids: Ids = None) -> Rows:
    """(provider, trait), by ids."""
    return _rows(connection, _TRAITS, ids)


def memberships(connection: Connection, ids: Ids = None) -> Rows:
    """(provider, aggregate), by ids."""
    return _rows(connection, _AGGREGATES, ids)


def aggregate_uuids(connection: Connection, ids: Collection[int] | None = None) -> dict[int, str]:
    """The uuid of each aggregate."""
    wanted = None if ids is None else sorted(ids)
    return {key: uuid for key, uuid in _rows(connection, _AGGREGATE_UUIDS, wanted)}


def class_names(connection: Connection) -> dict[int, str]:
    """The name of every resource class."""
    return {key: name for key, name in connection.execute(_CLASS_NAMES)}


def trait_names(connection: Connection) -> dict[int, str]:
    """The name of every trait."""
    return {key: name for key, name in connection.execute(_TRAIT_NAMES)}


#: makes sums depend on which provider a value belongs to
WEIGHT_MODULUS = 1009


def _wide(number: sa.ColumnElement | sa.Column) -> sa.ColumnElement:
    """A product of two 32-bit integers doesn't fit 32 bits, which PostgreSQL minds."""
    return sa.cast(number, sa.BigInteger)


def _weighed(provider: sa.Column, value: sa.ColumnElement | sa.Column) -> sa.ColumnElement:
    weight = provider % WEIGHT_MODULUS + 1
    return sa.func.coalesce(sa.func.sum(_wide(weight) * value), 0)


_FINGERPRINT = (
    sa.select(
        sa.func.count(),
        _weighed(resource_providers.c.id, resource_providers.c.id),
        _weighed(
            resource_providers.c.id, sa.func.coalesce(resource_providers.c.parent_provider_id, 0)
        ),
        _weighed(resource_providers.c.id, _ROOT),
    ),
    sa.select(
        sa.func.count(),
        _weighed(
            inventories.c.resource_provider_id,
            _wide(inventories.c.total)
            - inventories.c.reserved
            + 3 * inventories.c.resource_class_id,
        ),
        _weighed(
            inventories.c.resource_provider_id,
            inventories.c.min_unit
            + 3 * _wide(inventories.c.max_unit)
            + 5 * _wide(inventories.c.step_size),
        ),
        sa.func.coalesce(sa.func.sum(exact(inventories.c.allocation_ratio)), 0.0),
    ),
    sa.select(
        _weighed(allocations.c.resource_provider_id, allocations.c.used),
        sa.func.coalesce(
            sa.func.sum(_wide(allocations.c.used) * (1 + allocations.c.resource_class_id)), 0
        ),
    ),
    sa.select(
        sa.func.count(),
        _weighed(
            resource_provider_traits.c.resource_provider_id, resource_provider_traits.c.trait_id
        ),
    ),
    sa.select(
        sa.func.count(),
        _weighed(
            resource_provider_aggregates.c.resource_provider_id,
            resource_provider_aggregates.c.aggregate_id,
        ),
    ),
    sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(resource_classes.c.id), 0)),
    sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(traits.c.id), 0)),
)

Fingerprint = tuple[tuple[float, ...], ...]


def fingerprint(connection: Connection) -> Fingerprint:
    """Sums over the tables that change when anything a snapshot holds changes.

    `Snapshot.fingerprint` computes the same numbers. Two tables may by bad luck have the same
    sums; the audit that compares them is a net under the change feed, not the way to keep fresh.
    """
    return tuple(
        tuple(float(number) for number in connection.execute(question).one())
        for question in _FINGERPRINT
    )
