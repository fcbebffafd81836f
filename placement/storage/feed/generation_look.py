"""A look at the providers' generations, to notice writers that don't append to the change feed.

OpenStack Placement raises the generation of a provider with almost every write to it; upgrade.rst
lists the writes that a look doesn't show. A look is one statement that returns one row of sums. So
it costs the database a walk over the providers, and the service almost nothing.

Generations only grow. So as long as the same providers exist, equal sums of generations mean that
each generation is equal. Number and sum of the ids show whether the same providers exist: a new
provider has a higher id than those that were deleted. Sums of parents and roots show whether
providers were moved. For example, sums of (2 providers, ids 1 + 4, generations 3 + 0) become
(2, 1 + 5, 3 + 0) when others replace the second provider.

Some writes leave all sums equal, and wait for the audit of the snapshot: the database gives an id
again (SQLite does, after the newest provider was deleted), ids become visible in another order than
they were given, providers exchange their parents, or a resource class gets the id of another one
(OpenStack Placement gives the highest id plus one).
"""

import dataclasses
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Connection, Database
from placement.storage.feed.change_feed import ChangeKind
from placement.storage.tables import resource_classes, resource_providers, traits
from placement.storage.whole_cloud.snapshot_reads import GENERATION

#: everything that a search can see of a provider
ALL_KINDS = ChangeKind.ROW | ChangeKind.INVENTORY | ChangeKind.TRAITS | ChangeKind.AGGREGATES
#: providers whose ids differ only in so many last bits form a group: 256 providers at most
GROUP_BITS = 8

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
#: the number of bits is a literal: a statement that goes to the driver has no parameters of its own
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
    """Look, in a transaction of its own; raises what `Database.read` raises."""
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
