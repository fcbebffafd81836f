"""Which providers are in all of many sets, such as those of a required trait.

PostgreSQL takes seconds to plan a statement that joins some dozens of them, and SQLite and the
others take ever longer. So the members of all named traits, or aggregates, are read once.
"""

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Connection
from placement.storage.driver.list_parameters import among, parts
from placement.storage.tables import resource_provider_aggregates, resource_provider_traits

_MEMBERS = {
    kind: Compiled(sa.select(column, table.c.resource_provider_id).where(among(column, "ids")))
    for kind, table, column in (
        ("traits", resource_provider_traits, resource_provider_traits.c.trait_id),
        ("aggregates", resource_provider_aggregates, resource_provider_aggregates.c.aggregate_id),
    )
}


def in_all(connection: Connection, kind: str, sets: Iterable[Sequence[int]]) -> set[int] | None:
    """Return the ids of the providers that are in at least one of each of the sets; None: no sets.

    :param kind: "traits" or "aggregates"
    :param sets: ids of traits or aggregates
    """
    wanted = list({frozenset(each) for each in sets})
    if not wanted:
        return None
    members: dict[int, set[int]] = {one: set() for each in wanted for one in each}
    for part in parts(sorted(members)):
        for one, provider_id in connection.execute(_MEMBERS[kind], {"ids": part}):
            members[one].add(provider_id)
    left = set().union(*(members[one] for one in wanted[0]))
    for each in wanted[1:]:
        left = set().union(*(left & members[one] for one in each))
    return left
