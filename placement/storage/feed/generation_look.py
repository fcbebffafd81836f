"""A look at the providers' generations, to notice writers that don't append to the change feed.

OpenStack Placement raises the generation of a provider with almost every write to it. The writes
that a look doesn't show are in upgrade.rst. A look is one statement with one row of sums, so it
costs the database a walk over the providers, and the service almost nothing.

Generations only grow. So as long as the same providers exist, an equal sum of generations means
that each generation is equal. Number and sum of the ids say whether the same providers exist: a
provider that is new has a higher id than those that were deleted. Sums of parents and roots say
whether providers were moved. The audit of the snapshot finds what could escape: a database that
gives an id again (SQLite does, after the newest provider was deleted), ids that become visible in
another order than they were given, moves that exchange parents, and a resource class with the id of
another one (OpenStack Placement gives the highest id plus one).
"""

import dataclasses
import datetime
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind
from placement.storage.tables import (
    provider_changes,
    resource_classes,
    resource_providers,
    traits,
)
from placement.storage.whole_cloud.snapshot_reads import GENERATION

#: providers whose ids differ only in so many last bits form a group
GROUP_BITS = 8
#: by how much the clock of a write may differ between a provider's row and the feed's
_SLACK = datetime.timedelta(seconds=2)

#: number of providers, and sums of their ids, generations, parents and roots
Sums = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class GenerationSums:
    """What one look shows.

    :param providers: the sums over all providers
    :param traits: the number of traits, and the sum of their ids
    :param classes: the number of resource classes, and the sum of their ids
    """

    providers: Sums
    traits: tuple[int, int]
    classes: tuple[int, int]


@dataclasses.dataclass(frozen=True)
class ProviderGeneration:
    """A provider's generation, and where in its tree it is."""

    generation: int
    parent_id: int | None
    root_id: int


_RP = resource_providers.c
_ROOT = sa.func.coalesce(_RP.root_provider_id, _RP.id)
_SUMS: tuple[sa.ColumnElement[Any], ...] = (
    sa.func.count(_RP.id),
    sa.func.sum(_RP.id),
    sa.func.sum(_RP.generation),
    sa.func.sum(_RP.parent_provider_id),
    sa.func.sum(_ROOT),
)
#: the group as a literal, because a statement for the driver has no parameters of its own
_GROUP = _RP.id.bitwise_rshift(sa.literal_column(str(GROUP_BITS), sa.Integer))
_GROUPS = sa.select(_GROUP, *_SUMS).group_by(_GROUP)
_PLACES = sa.select(_RP.id, GENERATION, _RP.parent_provider_id, _ROOT)


def _names(table: sa.Table) -> tuple[sa.ScalarSelect[Any], sa.ScalarSelect[Any]]:
    return (
        sa.select(sa.func.count(table.c.id)).scalar_subquery(),
        sa.select(sa.func.sum(table.c.id)).scalar_subquery(),
    )


_LOOK = Compiled(sa.select(*_SUMS, *_names(traits), *_names(resource_classes)))


def ask(database: Database) -> GenerationSums:
    """Look, in a transaction of its own. Raises what `Database.read` raises."""
    return _look(database.ask(_LOOK)[0])


def read(connection: Connection) -> GenerationSums:
    """Look, in the transaction of other reads."""
    return _look(connection.execute(_LOOK).all()[0])


def _look(row: Any) -> GenerationSums:
    sums = [int(value or 0) for value in row]
    return GenerationSums(tuple(sums[:5]), (sums[5], sums[6]), (sums[7], sums[8]))


def groups(connection: Connection) -> dict[int, Sums]:
    """Return the sums of each group of providers."""
    return {
        int(row[0]): tuple(int(value or 0) for value in row[1:])
        for row in connection.execute(_GROUPS)
    }


def places(connection: Connection, numbers: Collection[int]) -> dict[int, ProviderGeneration]:
    """Return the providers of some groups by id."""
    if not numbers:
        return {}
    first, last = min(numbers) << GROUP_BITS, (max(numbers) + 1 << GROUP_BITS) - 1
    # with the range, the database needn't read all providers when few groups differ
    some = _PLACES.where(_RP.id.between(first, last), _GROUP.in_(sorted(numbers)))
    return {row[0]: ProviderGeneration(*row[1:]) for row in connection.execute(some)}


def was_written_by_others(connection: Connection, since: datetime.datetime) -> bool:
    """Say whether others wrote after `since` (UTC): a worker told so, or a provider shows it.

    A provider shows it if it was last changed by a writer without the feed. That is a hint: a
    change that a write of ours followed doesn't show. Nor does one from before the oldest row of a
    feed that was trimmed: the rows of our own writes from then are gone, too.
    """
    feed = provider_changes.c
    told = sa.exists().where(
        feed.resource_provider_id == NO_PROVIDER,
        feed.kind.bitwise_and(int(ChangeKind.OTHERS)) != 0,
        feed.created_at >= since,
    )
    if connection.execute(sa.select(told)).scalar():
        return True
    oldest = change_feed.oldest_if_trimmed(connection)
    if oldest is not None:
        since = max(since, oldest + _SLACK)
    changed_at = sa.func.coalesce(_RP.updated_at, _RP.created_at)
    changed = connection.execute(sa.select(_RP.id, changed_at).where(changed_at >= since)).all()
    if not changed:
        return False
    last = connection.execute(
        sa.select(feed.resource_provider_id, sa.func.max(feed.created_at))
        .where(feed.created_at >= since - _SLACK)
        .group_by(feed.resource_provider_id)
    )
    fed: dict[int, datetime.datetime] = {key: at for key, at in last}
    return any(key not in fed or at > fed[key] + _SLACK for key, at in changed)


#: everything that a search can see of a provider
ALL_KINDS = ChangeKind.ROW | ChangeKind.INVENTORY | ChangeKind.TRAITS | ChangeKind.AGGREGATES
