"""How much single consumers hold of each provider: for bounds of how many have to move."""

from collections.abc import Collection, Iterator, Sequence

import sqlalchemy as sa

from placement.domain.consumer import UNKNOWN_TYPE
from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Connection
from placement.storage.driver.list_parameters import among
from placement.storage.tables import allocations, consumer_types, consumers

#: of how many providers a statement reads the rows
_PROVIDERS = 4096

_TYPES = sa.select(consumer_types.c.id, consumer_types.c.name)
_OF_TYPES = sa.or_(
    among(consumers.c.consumer_type_id, "types"),
    sa.and_(
        sa.bindparam("untyped", type_=sa.Integer) == 1,
        consumers.c.consumer_type_id.is_(None),
    ),
)
_AMOUNTS = Compiled(
    sa.select(
        allocations.c.resource_provider_id, allocations.c.used, sa.case((_OF_TYPES, 1), else_=0)
    )
    .select_from(allocations.join(consumers, consumers.c.uuid == allocations.c.consumer_id))
    .where(
        allocations.c.resource_class_id == sa.bindparam("class_id", type_=sa.Integer),
        allocations.c.resource_provider_id.between(
            sa.bindparam("first", type_=sa.Integer), sa.bindparam("last", type_=sa.Integer)
        ),
    )
)
_LARGEST = (
    sa.select(allocations.c.consumer_id, sa.func.max(allocations.c.used))
    .where(among(allocations.c.resource_provider_id, "providers"))
    .group_by(allocations.c.consumer_id)
    .order_by(sa.func.max(allocations.c.used).desc(), allocations.c.consumer_id)
    .limit(sa.bindparam("most", type_=sa.Integer))
)

_BY_TYPE = (
    sa.select(consumer_types.c.name, sa.func.count())
    .select_from(consumers.outerjoin(consumer_types))
    .group_by(consumer_types.c.name)
)


def consumers_by_type(connection: Connection) -> dict[str, int]:
    """Return how many consumers there are of each type; `unknown`: without one."""
    return {name or UNKNOWN_TYPE: count for name, count in connection.execute(_BY_TYPE)}


def amounts(
    connection: Connection, class_id: int, types: Collection[str], providers: Sequence[int]
) -> Iterator[Sequence[object]]:
    """Yield rows of (provider id, amount, 1 or 0), some at a time: each allocation of a class.

    :param types: 1 stands for consumers of these types; `unknown`: for those without one
    :param providers: ids of the providers, ascending; those of ids between them come, too
    """
    ids = [key for key, name in connection.execute(_TYPES) if name in types]
    values = {"class_id": class_id, "types": ids or [-1], "untyped": int(UNKNOWN_TYPE in types)}
    for begin in range(0, len(providers), _PROVIDERS):
        part = providers[begin : begin + _PROVIDERS]
        span = {"first": part[0], "last": part[-1]}
        yield connection.execute(_AMOUNTS, values | span).all()


def largest_holders(connection: Connection, provider_ids: Sequence[int], most: int) -> list[str]:
    """Return the uuids of consumers that hold most of some providers, the largest first."""
    values = {"providers": list(provider_ids), "most": most}
    return [row[0] for row in connection.execute(_LARGEST, values)]
