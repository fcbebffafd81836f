"""Which rows of PostgreSQL's tables are new since a moment.

See "An audit on PostgreSQL reads what is new" in decisions.rst.

PostgreSQL keeps in each row which transaction wrote it. Its number tells rows that somebody wrote
after a moment, in whatever way. Of deleted rows nothing is left, but fewer remain.
"""

import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.exc import NotSupportedError, ProgrammingError

from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Connection
from placement.storage.driver.postgresql_lists import List

LOG = logging.getLogger(__name__)
Ids = npt.NDArray[np.int64]
#: how many transactions after a moment rows are still told apart: half of what numbers could tell
_MOST = 2**30
#: the age at which nothing is new
NOTHING = -1


@dataclasses.dataclass(frozen=True)
class Moment:
    """What a transaction sees.

    :param tables: which server that is, since when it runs without a crash, which its tables are,
        and since when their columns: only if that is the same, moments can be compared
    :param oldest: the number of the oldest transaction whose writes it may not see
    :param newest: the number of the first one that has not begun
    """

    tables: str
    oldest: int
    newest: int


class Table:
    """A table of which new rows are asked for.

    :param table: what it is
    :param provider_id: the column with the id of a provider
    :param amount: what is added up over all rows; None: rows are counted
    """

    def __init__(
        self, table: sa.Table, provider_id: sa.Column, amount: sa.Column | None = None
    ) -> None:
        self.table = table
        # the number of a row that is very old looks as if it were to come
        is_new = sa.func.age(sa.literal_column(f"{table.name}.xmin")).between(
            sa.literal_column("0"), sa.bindparam("age", type_=sa.Integer)
        )
        ids = sa.func.array_agg(sa.cast(provider_id, sa.BigInteger)).filter(is_new)
        total: sa.ColumnElement[Any] = sa.func.count()
        least: sa.ColumnElement[Any] = sa.literal_column("0")
        if amount is not None:
            total, least = sa.func.sum(amount), sa.func.min(amount)
        numbers = (sa.cast(sa.func.coalesce(one, 0), sa.BigInteger) for one in (total, least))
        self._statement = Compiled(sa.select(*numbers, ids).select_from(table))

    def written(self, connection: Connection, age: int) -> tuple[int | None, Ids]:
        """Return the total, and the ids of the providers that have new rows, ascending.

        The total is None if it says nothing, because a row could be deleted without making it less.

        :param age: from `age`, or NOTHING
        """
        total, least, ids = connection.arrays(self._statement, {"age": age})
        found = np.zeros(0, np.int64) if ids is None else np.unique(ids)
        return (int(total) if least >= 0 else None), found


def moment(connection: Connection, tables: Sequence[Table]) -> Moment | None:
    """Return what this transaction sees; None: rows don't tell who wrote them.

    So it is with other databases, where a table is a view, or is not kept as PostgreSQL does by
    itself, or shows other rows to other users, and where the user may not ask.
    """
    if not connection.reads_arrays:
        return None
    names = [one.table.name for one in tables]
    try:
        with connection.plain.begin_nested():
            oldest, newest, server, kept = connection.execute(_MOMENT, {"names": names}).all()[0]
    except (ProgrammingError, NotSupportedError) as error:
        LOG.info("Audits of the snapshot read whole tables: %s", error.orig)
        return None
    if kept != len(names):
        return None
    return Moment(server, oldest, newest)


def age(connection: Connection, then: Moment, now: Moment) -> int | None:
    """Return how old, in transactions, rows are that were written after a moment, at most.

    None: it can't be told, because that was in another server, or before a crash of it, or too long
    ago.

    :param now: of this transaction
    """
    if then.tables != now.tables or not then.newest <= now.newest < then.oldest + _MOST:
        return None
    return int(connection.execute(_AGE, {"oldest": then.oldest}).scalar())


_NUMBER = sa.BigInteger()
# A server that crashes may lose what it had committed (synchronous_commit = off), and give the
# numbers of these transactions again. The statistics begin anew then, even if its first process
# goes on. Servers that take over, or are restored, have another start.
_MOMENT = Compiled(
    sa.text(
        """
        SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint),
               CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint),
               concat_ws(' ', pg_postmaster_start_time(),
                         (SELECT stats_reset FROM pg_stat_bgwriter),
                         (SELECT concat_ws('/', oid, xmin)
                          FROM pg_database WHERE datname = current_database()),
                         string_agg(concat_ws('/', c.oid, c.xmin, columns.made), ' '
                                    ORDER BY c.oid)),
               count(*) FILTER (WHERE c.relkind = 'r' AND a.amname = 'heap'
                                AND NOT c.relhassubclass AND NOT c.relrowsecurity)
        FROM unnest(:names) AS wanted (name)
        JOIN pg_class c ON c.oid = to_regclass(wanted.name)
        LEFT JOIN pg_am a ON a.oid = c.relam
        CROSS JOIN LATERAL (
            SELECT string_agg(CAST(xmin AS text), ',' ORDER BY attnum) AS made
            FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0
        ) AS columns
        """
    )
    .bindparams(sa.bindparam("names", type_=List(sa.Text())))
    .columns(
        sa.column("oldest", _NUMBER),
        sa.column("newest", _NUMBER),
        sa.column("tables", sa.Text()),
        sa.column("kept", _NUMBER),
    )
)
# a row has the lower half of the number
_AGE = Compiled(
    sa.text("SELECT age(CAST(CAST(CAST(:oldest AS bigint) & 4294967295 AS text) AS xid))").columns(
        sa.column("age", _NUMBER)
    )
)
