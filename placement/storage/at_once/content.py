"""Writes of what one provider has, in one message (see `statement`).

The usual is: the provider exists with the generation that the client names, and so does all that
the write refers to. What the provider has already stays as it is.
"""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from placement.domain.capacity import Inventory
from placement.storage import providers
from placement.storage.at_once.statement import (
    LARGEST,
    NOW,
    array,
    bumped,
    changes,
    count,
    end,
    inserting,
    rows,
    telling,
)
from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Connection, StatementResult
from placement.storage.driver.list_parameters import among
from placement.storage.feed.feed_kinds import ChangeKind
from placement.storage.inventories import RECORD, record
from placement.storage.resource_classes import ids_of
from placement.storage.tables import (
    allocations,
    inventories,
    placement_aggregates,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.storage.traits import COLUMNS

#: requests that name more than this are written the usual way
MOST_NAMES = 100

_IS_IT = resource_providers.c.uuid == sa.bindparam("uuid")
_NODE = (
    sa.select(resource_providers.c.id.label("provider_id"))
    .where(
        _IS_IT,
        resource_providers.c.generation == sa.bindparam("generation", type_=sa.Integer),
    )
    .cte("node")
)
_ID = sa.select(_NODE.c.provider_id).scalar_subquery()


def _telling(kind: ChangeKind, *conditions: Any) -> tuple[sa.CTE, sa.CTE, Any, sa.CTE]:
    """Return the lane, what appends there, whether all is usual, and what raises the generation."""
    one = sa.literal_column("1", sa.Integer)
    changed = changes(_NODE, kind, one).subquery("changed")
    taken, appending = telling(changed, one, sa.exists().select_from(_NODE), *conditions)
    so = taken.c.id.is_not(None)
    return taken, appending, so, bumped(resource_providers, _IS_IT, so).cte("bumped")


def _inventories() -> sa.Select[Any]:
    types = {"class_id": ("classes", sa.Integer)} | {
        column.name: (column.name, column.type) for column in RECORD
    }
    wanted = rows("wanted", **types)
    stored = inventories.c.resource_class_id
    others = stored != sa.all_(array("classes", sa.Integer))
    used = sa.exists().where(
        allocations.c.resource_provider_id == _ID,
        allocations.c.resource_class_id != sa.all_(array("classes", sa.Integer)),
    )
    taken, appending, so, bump = _telling(ChangeKind.INVENTORY, ~used)
    gone = sa.delete(inventories).where(inventories.c.resource_provider_id == _ID, others, so)
    new = sa.select(
        NOW.label("created_at"),
        _NODE.c.provider_id.label("resource_provider_id"),
        wanted.c.class_id.label("resource_class_id"),
        *(wanted.c[column.name] for column in RECORD),
    ).select_from(_NODE.join(wanted, sa.true()))
    insert = postgresql.insert(inventories).from_select(
        [str(column.key) for column in new.selected_columns], new.where(so), include_defaults=False
    )
    # a row that is written again is as new
    again = {column.name: insert.excluded[column.name] for column in RECORD}
    kept = insert.on_conflict_do_update(
        index_elements=["resource_provider_id", "resource_class_id"],
        set_={**again, "created_at": insert.excluded.created_at, "updated_at": None},
    )
    return sa.select(taken.c.id).add_cte(gone.cte("gone"), kept.cte("kept"), bump, appending)


@dataclasses.dataclass(frozen=True)
class _Difference:
    """How a provider's rows of a table differ from what is asked.

    :param added: the ids that it lacks
    :param lost: the ids that aren't asked
    """

    table: sa.Table
    member: str
    added: sa.CTE
    lost: sa.CTE

    @classmethod
    def of(cls, table: sa.Table, member: str, asked: sa.CTE) -> "_Difference":
        """Return the difference to the ids that are asked."""
        held = (
            sa.select(table.c[member].label("id"))
            .where(table.c.resource_provider_id == _ID)
            .cte("held")
        )
        added = sa.select(asked.c.id).where(asked.c.id.not_in(sa.select(held.c.id)))
        lost = sa.select(held.c.id).where(held.c.id.not_in(sa.select(asked.c.id)))
        return cls(table, member, added.cte("added"), lost.cte("lost"))

    def writes(self, so: sa.ColumnElement[bool]) -> tuple[sa.CTE, sa.CTE]:
        """Return what stores it."""
        lost = sa.func.array(sa.select(self.lost.c.id).scalar_subquery())
        of_it = self.table.c.resource_provider_id == _ID
        gone = sa.delete(self.table).where(of_it, self.table.c[self.member] == sa.any_(lost), so)
        new = sa.select(
            NOW.label("created_at"),
            _NODE.c.provider_id.label("resource_provider_id"),
            self.added.c.id.label(self.member),
        ).select_from(_NODE.join(self.added, sa.true()))
        return gone.cte("gone"), inserting(self.table, new.where(so)).cte("stored")


def _traits() -> sa.Select[Any]:
    """Find the wanted traits, each with the lane; None: the provider has just these already."""
    # a host has dozens of traits: PostgreSQL would compare each trait with each name of an array
    named = rows("named", wanted=("names", sa.String))
    asked = sa.select(*COLUMNS).join(named, traits.c.name == named.c.wanted).cte("asked")
    difference = _Difference.of(resource_provider_traits, "trait_id", asked)
    differs = sa.or_(*(sa.exists(sa.select(part)) for part in (difference.added, difference.lost)))
    known = sa.and_(sa.exists().select_from(_NODE), _all_there(asked))
    state = sa.select(known.label("is_known"), differs.label("differs")).cte("state")
    # a subquery, so that a lane is looked for only then
    is_usual = sa.select(sa.and_(state.c.is_known, state.c.differs)).scalar_subquery()
    taken, appending, so, bump = _telling(ChangeKind.TRAITS, is_usual)
    found = (
        sa.select(asked, taken.c.id)
        .select_from(asked.join(state, state.c.is_known).outerjoin(taken, sa.true()))
        .where(sa.or_(so, sa.not_(state.c.differs)))
    )
    return found.add_cte(*difference.writes(so), bump, appending)


def _aggregates() -> sa.Select[Any]:
    named = among(placement_aggregates.c.uuid, "names")
    asked = sa.select(placement_aggregates.c.id).where(named).cte("asked")
    taken, appending, so, bump = _telling(ChangeKind.AGGREGATES, _all_there(asked))
    difference = _Difference.of(resource_provider_aggregates, "aggregate_id", asked)
    return sa.select(taken.c.id).add_cte(*difference.writes(so), bump, appending)


def _all_there(asked: sa.CTE) -> sa.ColumnElement[bool]:
    return count(asked) == sa.bindparam("number", type_=sa.Integer)


_INVENTORIES = Compiled(_inventories())
_TRAITS = Compiled(_traits())
_AGGREGATES = Compiled(_aggregates())


def suit(connection: Connection, names: Collection[str], generation: int) -> bool:
    """Return whether a write that refers to these names may be given to this module."""
    is_known = type(generation) is int and 0 <= generation <= LARGEST
    return is_known and 0 < len(names) <= MOST_NAMES and connection.assumes


def write_inventories(
    connection: Connection, uuid: str, generation: int, stock: Mapping[str, Inventory]
) -> None:
    """Replace the inventories of a provider by these, of standard classes."""
    ids = ids_of(connection, stock)
    records = [record(stock[name]) for name in ids]
    columns = {column.name: [one[column.name] for one in records] for column in RECORD}
    _end(connection, _INVENTORIES, uuid, generation, {"classes": list(ids.values()), **columns})


def write_traits(
    connection: Connection, uuid: str, generation: int, names: Collection[str]
) -> StatementResult:
    """Replace the traits of a provider.

    Return a row for each trait: what `traits.named_in` reads, and None at the end if the provider
    has just these traits already.
    """
    return _end(connection, _TRAITS, uuid, generation, _named(names))


def write_aggregates(
    connection: Connection, uuid: str, generation: int, uuids: Collection[str]
) -> None:
    """Replace the aggregates of a provider."""
    _end(connection, _AGGREGATES, uuid, generation, _named(uuids))


def _named(names: Collection[str]) -> dict[str, Any]:
    once = list(dict.fromkeys(names))
    return {"names": once, "number": len(once)}


def _end(
    connection: Connection, write: Compiled, uuid: str, generation: int, values: Mapping[str, Any]
) -> StatementResult:
    connection.later(*providers.lock_one_question(uuid))
    given = {"uuid": uuid, "generation": generation, **values}
    return end(connection, write, given, repeatable=True)
