"""What only the tables know of suspects, and since when each is one (extensions.md 12).

All results are ordered by database ids. Long ones come in batches, so that a process never has all
of their rows.
"""

import datetime
from array import array
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.extensions.suspects.rules import INSTANCE, MIGRATION, OF_ONE_HOST
from placement.storage.database.engine import Connection
from placement.storage.driver.list_parameters import among
from placement.storage.driver.list_parameters import parts as lists
from placement.storage.tables import (
    allocations,
    consumer_types,
    consumers,
    inventories,
    resource_classes,
)
from placement.storage.tables import resource_providers as providers

Time = datetime.datetime | None
#: a row of a statement; what it has is up to the statement
Row = Sequence[Any]
#: from when times are counted that are kept in few bytes, and what stands for none
_EPOCH, _NEVER = datetime.datetime(1970, 1, 1), -(1 << 63)
#: rows that are fetched from the driver together
_BATCH = 4096


class NamedProviderRow(NamedTuple):
    """A provider: database ids of it and of its root, uuid, name, and when it was created."""

    id: int
    root_id: int
    uuid: str
    name: str
    created: Time


class SplitInstance(NamedTuple):
    """An instance that holds processors or memory of several trees.

    :param since: when the newest of these allocations was written
    :param migrates: whether a migration of its project holds something of one of the trees
    """

    consumer_id: int
    since: Time
    migrates: bool


class ConsumerShare(NamedTuple):
    """What a consumer holds of one class in one tree, and when the first of it was written.

    A consumer that holds nothing has one share, whose values are None from the tree on.
    """

    consumer_id: int
    consumer: str
    root_uuid: str
    root_name: str
    resource_class: str
    used: int
    written: Time


def _root(table: sa.FromClause) -> sa.ColumnElement[int]:
    return sa.func.coalesce(table.c.root_provider_id, table.c.id)


def _changed(table: sa.FromClause) -> sa.ColumnElement[datetime.datetime]:
    return sa.func.coalesce(table.c.updated_at, table.c.created_at)


def _name(table: sa.FromClause) -> sa.ColumnElement[str]:
    # other programs may have stored a provider without a name
    return sa.func.coalesce(table.c.name, "")


_NAMED = sa.select(
    providers.c.id,
    _root(providers),
    providers.c.uuid,
    _name(providers),
    providers.c.created_at,
)
_ROOTS = _NAMED.where(providers.c.parent_provider_id.is_(None)).order_by(providers.c.id)
#: names that may end with the address of a PCI device
_DEVICES = _NAMED.where(
    sa.or_(providers.c.name.like("%:__:__._"), providers.c.name.ilike("%pci/_%/___/___/__", "/"))
).order_by(providers.c.id)
_OF_IDS = _NAMED.where(among(providers.c.id, "ids"))

_UNTOUCHED = (
    sa.select(_root(providers), sa.func.max(_changed(providers)).label("changed"))
    .group_by(_root(providers))
    .having(sa.func.max(_changed(providers)) < sa.bindparam("before", type_=sa.DateTime))
    .order_by(_root(providers))
)


def _is_of_type(name: str) -> sa.ColumnElement[bool]:
    types = sa.select(consumer_types.c.id).where(consumer_types.c.name == name)
    return consumers.c.consumer_type_id.in_(types)


_CLASSES = sa.select(resource_classes.c.id).where(resource_classes.c.name.in_(OF_ONE_HOST))
# consumers are looked up after the grouping: few are left then
_spread = (
    sa.select(
        allocations.c.consumer_id.label("uuid"),
        sa.func.max(_changed(allocations)).label("since"),
    )
    .select_from(allocations.join(providers, allocations.c.resource_provider_id == providers.c.id))
    .where(allocations.c.resource_class_id.in_(_CLASSES))
    .group_by(allocations.c.consumer_id)
    .having(sa.func.min(_root(providers)) != sa.func.max(_root(providers)))
    .subquery("spread")
)
_SPLIT_INSTANCES = (
    sa.select(consumers.c.id, consumers.c.project_id, _spread.c.since)
    .select_from(_spread.join(consumers, consumers.c.uuid == _spread.c.uuid))
    .where(_is_of_type(INSTANCE))
    .order_by(consumers.c.id)
)
_HELD = consumers.join(allocations, allocations.c.consumer_id == consumers.c.uuid).join(
    providers, allocations.c.resource_provider_id == providers.c.id
)
_MIGRATIONS = (
    sa.select(consumers.c.project_id, _root(providers))
    .select_from(_HELD)
    .where(_is_of_type(MIGRATION))
    .distinct()
)
_TREES_OF_CONSUMERS = (
    sa.select(consumers.c.id, _root(providers))
    .select_from(_HELD)
    .where(among(consumers.c.id, "ids"))
    .distinct()
)

_UNTYPED = (
    sa.select(consumers.c.id, consumers.c.created_at)
    .where(consumers.c.consumer_type_id.is_(None), consumers.c.id > sa.bindparam("after"))
    .order_by(consumers.c.id)
    .limit(sa.bindparam("limit", type_=sa.Integer))
)
_UNTYPED_COUNT = sa.select(sa.func.count()).where(consumers.c.consumer_type_id.is_(None))

_top = providers.alias("top")
_SHARES = (
    sa.select(
        consumers.c.id,
        consumers.c.uuid,
        _top.c.uuid,
        _name(_top),
        resource_classes.c.name,
        sa.cast(sa.func.sum(allocations.c.used), sa.BigInteger),
        sa.func.min(allocations.c.created_at),
    )
    .select_from(
        consumers.outerjoin(allocations, allocations.c.consumer_id == consumers.c.uuid)
        .outerjoin(providers, allocations.c.resource_provider_id == providers.c.id)
        .outerjoin(_top, _top.c.id == _root(providers))
        .outerjoin(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
    )
    .where(among(consumers.c.id, "ids"))
    .group_by(
        *(consumers.c.id, consumers.c.uuid, _top.c.id, _top.c.uuid, _top.c.name),
        resource_classes.c.id,
        resource_classes.c.name,
    )
    .order_by(consumers.c.id, sa.func.min(allocations.c.id))
)
_INVENTORY_TIMES = sa.select(
    inventories.c.resource_provider_id, inventories.c.resource_class_id, _changed(inventories)
).where(among(inventories.c.resource_provider_id, "ids"))
_USAGE_TIMES = (
    sa.select(
        allocations.c.resource_provider_id,
        allocations.c.resource_class_id,
        sa.func.max(_changed(allocations)),
    )
    .where(among(allocations.c.resource_provider_id, "ids"))
    .group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)
)
_TREE_TIMES = (
    sa.select(_root(providers), sa.func.max(_changed(providers)))
    .where(sa.or_(among(providers.c.root_provider_id, "ids"), among(providers.c.id, "ids")))
    .group_by(_root(providers))
)


def roots(connection: Connection) -> Iterator[NamedProviderRow]:
    """Yield all roots."""
    return (NamedProviderRow(*row) for row in _stream(connection, _ROOTS))


def devices(connection: Connection) -> Iterator[NamedProviderRow]:
    """Yield the providers whose names may end with the address of a PCI device."""
    return (NamedProviderRow(*row) for row in _stream(connection, _DEVICES))


def named(connection: Connection, ids: Collection[int]) -> dict[int, NamedProviderRow]:
    """Return providers by their ids; those that are gone are missing."""
    rows = connection.execute(_OF_IDS, {"ids": list(ids)}) if ids else ()
    return {row[0]: NamedProviderRow(*row) for row in rows}


def untouched(connection: Connection, before: datetime.datetime) -> Iterator[tuple[int, Time]]:
    """Yield trees without a change since `before`: (id of the root, time of the last change)."""
    return ((row[0], _time(row[1])) for row in _stream(connection, _UNTOUCHED, {"before": before}))


def split_instances(connection: Connection) -> Iterator[SplitInstance]:
    """Yield the instances that hold processors or memory of several trees.

    A migration belongs to no instance by name. It is taken for that of any instance of the same
    project that holds something of a tree of which the migration holds something, too.
    """
    # the grouping looks at all allocations, so it is asked for once; a row takes 24 bytes here
    ids, of_projects, times = array("q"), array("q"), array("q")
    for consumer_id, project_id, since in _stream(connection, _SPLIT_INSTANCES):
        ids.append(consumer_id)
        of_projects.append(project_id)
        times.append(_microseconds(_time(since)))
    # the migrations are only those under way, so there are few
    migrating_from: dict[int, set[int]] = {}
    for project_id, root_id in connection.execute(_MIGRATIONS) if ids else ():
        migrating_from.setdefault(project_id, set()).add(root_id)
    projects = {
        consumer_id: project_id
        for consumer_id, project_id in zip(ids, of_projects, strict=True)
        if project_id in migrating_from
    }
    migrating = {
        consumer_id
        for some in lists(projects)
        for consumer_id, root_id in connection.execute(_TREES_OF_CONSUMERS, {"ids": some})
        if root_id in migrating_from[projects[consumer_id]]
    }
    for consumer_id, passed in zip(ids, times, strict=True):
        since = None if passed == _NEVER else _EPOCH + datetime.timedelta(microseconds=passed)
        yield SplitInstance(consumer_id, since, consumer_id in migrating)


def untyped(connection: Connection, after: int, limit: int) -> list[tuple[int, Time]]:
    """Return (id, when it was made) of consumers without a type after an id, at most `limit`."""
    rows = connection.execute(_UNTYPED, {"after": after, "limit": limit})
    return [(row[0], row[1]) for row in rows]


def untyped_count(connection: Connection) -> int:
    """Return how many consumers have no type."""
    return int(connection.execute(_UNTYPED_COUNT).scalar() or 0)


def shares(connection: Connection, consumer_ids: Collection[int]) -> dict[int, list[ConsumerShare]]:
    """Return what consumers hold of each tree and class, by their ids; the oldest comes first."""
    found: dict[int, list[ConsumerShare]] = {}
    rows = connection.execute(_SHARES, {"ids": list(consumer_ids)}) if consumer_ids else ()
    for row in rows:
        found.setdefault(row[0], []).append(ConsumerShare._make([*row[:-1], _time(row[-1])]))
    return found


Times = Mapping[tuple[int, int], Time]


def inventory_times(connection: Connection, ids: Collection[int]) -> Times:
    """Return when the inventories of providers changed, by ids of provider and class."""
    return _times(connection, _INVENTORY_TIMES, ids)


def usage_times(connection: Connection, ids: Collection[int]) -> Times:
    """Return when the newest allocations of providers were written, by provider and class."""
    return _times(connection, _USAGE_TIMES, ids)


def _times(connection: Connection, question: sa.Executable, ids: Collection[int]) -> Times:
    rows = connection.execute(question, {"ids": list(ids)}) if ids else ()
    return {(row[0], row[1]): _time(row[2]) for row in rows}


def tree_times(connection: Connection, root_ids: Collection[int]) -> dict[int, Time]:
    """Return when a provider of a tree changed last, by the ids of roots."""
    rows = connection.execute(_TREE_TIMES, {"ids": list(root_ids)}) if root_ids else ()
    return {row[0]: _time(row[1]) for row in rows}


def _time(value: str | Time) -> Time:
    # SQLite returns a time that was computed as a text
    return datetime.datetime.fromisoformat(value) if isinstance(value, str) else value


def _microseconds(time: Time) -> int:
    return _NEVER if time is None else (time - _EPOCH) // datetime.timedelta(microseconds=1)


def _stream(
    connection: Connection, question: sa.Executable, values: Mapping[str, object] | None = None
) -> Generator[Row, None, None]:
    options = {"stream_results": True, "max_row_buffer": _BATCH}
    result = connection.plain.execute(question, values or {}, execution_options=options)
    with result:
        for batch in result.partitions(_BATCH):
            yield from batch
