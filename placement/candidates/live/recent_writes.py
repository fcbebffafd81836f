"""Whether somebody wrote behind the change feed since a snapshot was as the tables are.

That takes less than to compare all ("An audit on PostgreSQL reads what is new" in decisions.rst).
After that moment a snapshot is only changed by what the feed names, and what it reads then is what
is in the tables. So it can't differ in other ways than these:

* it lacks a row that somebody wrote: such a row is new, and all rows of its provider are compared;
* it has a row that somebody deleted: then the totals differ.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.forest import Forest
from placement.candidates.cloud.register import Register
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live import row_checks
from placement.candidates.live.comparison import aggregates_differ, differences, names_differ
from placement.storage import tables
from placement.storage.database.engine import Connection
from placement.storage.whole_cloud import row_versions, whole_tables
from placement.storage.whole_cloud import snapshot_reads as reads
from placement.storage.whole_cloud.row_versions import Ids, Moment, Table

#: after so many audits that read the new rows alone, one compares all again
MOST_IN_TURN = 60
#: from so many providers with new rows on, all is compared: at least, and as a part of all
_MANY, _PART = 1_000, 1 / 8


@dataclasses.dataclass(frozen=True)
class Proof:
    """That a snapshot was as the tables were.

    :param moment: when
    :param more: by how much the total of each table was more than the snapshot's: rows of providers
        that aren't there
    :param register: which providers it had
    :param audits: how many audits in turn have read the new rows alone
    """

    moment: Moment
    more: tuple[int, ...]
    register: Register
    audits: int = 0


@dataclasses.dataclass(frozen=True)
class _Compared:
    """A table, and how its rows are compared.

    :param total: the snapshot's own
    :param read: yields columns of all rows of providers
    :param differ: says whether any row of such columns is not in the snapshot
    """

    table: Table
    total: Callable[[Snapshot], int]
    read: Callable[[Connection, Ids], Iterator[Sequence[Any]]]
    differ: Callable[[Snapshot, Sequence[Any]], bool]


def _what_providers_have(
    table: sa.Table,
    amount: sa.Column | None,
    total: Callable[[Snapshot], int],
    question: Sequence[sa.Select],
    differ: Callable[[Snapshot, Slots, Sequence[Numbers]], bool],
) -> _Compared:
    def differ_by_id(snapshot: Snapshot, columns: Sequence[Any]) -> bool:
        slots = snapshot.register.slot_of_id.slots(columns[0])
        return bool(np.any(slots < 0)) or differ(snapshot, slots, columns[1:])

    return _Compared(
        Table(table, table.c.resource_provider_id, amount),
        total,
        lambda connection, ids: whole_tables.of_some_providers(connection, question, ids),
        differ_by_id,
    )


def _used(snapshot: Snapshot) -> int:
    """Return the sum of what is used. No amount is less than 0, or the database's sum says so."""
    of_columns = sum(column.usage.total() for column in snapshot.columns.values())
    return of_columns + sum(snapshot.stray_usage.values())


_COMPARED = (
    _Compared(
        Table(tables.resource_providers, tables.resource_providers.c.id),
        lambda snapshot: int(np.count_nonzero(snapshot.forest.alive)),
        whole_tables.some_providers,
        row_checks.providers_differ,
    ),
    _what_providers_have(
        tables.inventories,
        None,
        lambda snapshot: sum(map(len, snapshot.columns.values())),
        reads.STOCKS,
        row_checks.stocks_differ,
    ),
    _what_providers_have(
        tables.allocations,
        tables.allocations.c.used,
        _used,
        reads.USAGES,
        row_checks.usages_differ,
    ),
    _what_providers_have(
        tables.resource_provider_traits,
        None,
        lambda snapshot: sum(having.count for having in snapshot.with_trait.values()),
        reads.PROVIDER_TRAITS,
        row_checks.traits_differ,
    ),
    _what_providers_have(
        tables.resource_provider_aggregates,
        None,
        lambda snapshot: sum(members.count for members in snapshot.in_aggregate.values()),
        reads.MEMBERSHIPS,
        row_checks.memberships_differ,
    ),
)
_TABLES = [one.table for one in _COMPARED]


def seen(connection: Connection) -> Moment | None:
    """Return what this transaction sees; None: with this database, all has to be compared."""
    return row_versions.moment(connection, _TABLES)


@dataclasses.dataclass(frozen=True)
class AuditResult:
    """What came of an audit.

    :param different: the tables that differ from the snapshot
    :param proof: that none does; None: it would be of no use with this database
    """

    different: list[str]
    proof: Proof | None


def compare(
    connection: Connection,
    snapshot: Snapshot,
    moment: Moment | None,
    proof: Proof | None,
    rest: Callable[[], None],
) -> AuditResult:
    """Compare a snapshot with the tables, as this transaction sees them.

    :param snapshot: with all that the feed names
    :param moment: from `seen`
    :param proof: about what the snapshot was before; None: there is none, so all is compared
    :param rest: is called between parts of the work
    """
    if moment is not None and proof is not None:
        found = _still(connection, snapshot, moment, proof, rest)
        if found is not None:
            return AuditResult([], found)
    different = differences(connection, snapshot, rest)
    return AuditResult(different, None if different else prove(connection, snapshot, moment, rest))


def prove(
    connection: Connection,
    snapshot: Snapshot,
    moment: Moment | None,
    rest: Callable[[], None] = lambda: None,
) -> Proof | None:
    """Return that a snapshot is as the tables are in this transaction, which the caller knows.

    None: it would be of no use with this database.

    :param moment: from `seen`
    :param rest: is called between parts of the work
    """
    if moment is None:
        return None
    more = []
    for one in _COMPARED:
        total, _ = one.table.written(connection, row_versions.NOTHING)
        if total is None:
            return None
        more.append(total - one.total(snapshot))
        rest()
    return Proof(moment, tuple(more), snapshot.register)


def _still(
    connection: Connection,
    snapshot: Snapshot,
    moment: Moment,
    proof: Proof,
    rest: Callable[[], None],
) -> Proof | None:
    """Return that a snapshot still is as the tables are in this transaction.

    None: that can't be told without comparing all.

    :param snapshot: what became of that of the proof, with all that the feed names by now
    :param rest: is called between parts of the work
    """
    if proof.audits >= MOST_IN_TURN:
        return None
    age = row_versions.age(connection, proof.moment, moment)
    if age is None or names_differ(connection, snapshot) or aggregates_differ(connection, snapshot):
        return None
    many, gone = max(_MANY, snapshot.size * _PART), _gone(proof.register, snapshot.register)
    if len(gone) > many or _has_orphans(snapshot.forest):
        return None
    for one, more in zip(_COMPARED, proof.more, strict=True):
        total, ids = one.table.written(connection, age)
        if total is None or total != one.total(snapshot) + more or len(ids) > many:
            return None
        rest()
        # what somebody left of a provider would make up for a row that is missing
        if any(len(columns[0]) for columns in one.read(connection, gone)):
            return None
        for columns in one.read(connection, ids):
            if one.differ(snapshot, columns):
                return None
            rest()
    return Proof(moment, proof.more, snapshot.register, proof.audits + 1)


def _has_orphans(forest: Forest) -> bool:
    """Say whether a parent or a root isn't there any more: the row of its child isn't new."""
    if forest.alive.all():
        return False
    parents = forest.parent[forest.alive & (forest.parent >= 0)]
    return not (forest.alive[parents].all() and forest.alive[forest.root[forest.alive]].all())


def _gone(before: Register, now: Register) -> Ids:
    """Return the ids of the providers that aren't there any more."""
    if before is now:
        return np.zeros(0, np.int64)
    known = before.known_ids
    return known[now.slot_of_id.slots(known) < 0]
