"""Parts of writes that PostgreSQL gets in one message, if they are usual.

The message has BEGIN, the locks, a statement that checks and writes, and COMMIT. The statement
takes a lane of the change feed, if all is usual, and appends there. All else that it writes is
joined with that lane. So in any other case it writes nothing and finds no row, and the usual way
finds out what the case is. The locks are statements of their own: a statement sees the database as
it was when it began, so it would lack what was stored while it waited for a lock.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by

from placement.storage.database.compiled import Compiled, RowLock
from placement.storage.database.connection import Connection, StatementResult
from placement.storage.driver.list_parameters import among
from placement.storage.driver.postgresql_lists import List
from placement.storage.feed import change_feed, feed_append, feed_lanes
from placement.storage.feed.feed_kinds import ChangeKind
from placement.storage.tables import consumers, utcnow

#: a greater number has no column
LARGEST = 2**31 - 1
NOW = sa.bindparam("now", type_=sa.DateTime)
_SETTING = "berth.locked"
#: the ids of the consumers that `lock_consumers` has locked, as one text
LOCKED = sa.func.current_setting(_SETTING)


def array(name: str, type_: Any) -> sa.BindParameter[Any]:
    """Return a list that is one parameter."""
    return sa.bindparam(name, type_=List(type_))


def rows(name: str, **columns: tuple[str, Any]) -> sa.FromClause:
    """Return lists of the same length as rows: by column, the name of its list, and its type."""
    lists = (array(given, type_) for given, type_ in columns.values())
    typed = (sa.column(column, type_) for column, (_, type_) in columns.items())
    return sa.func.unnest(*lists).table_valued(*typed).render_derived(name=name)


def in_one_text(ids: sa.ColumnElement[int]) -> sa.ColumnElement[str]:
    """Return ids as one text, in ascending order."""
    gathered = sa.func.array_agg(aggregate_order_by(ids, ids))
    return sa.func.coalesce(sa.func.array_to_string(gathered, ","), "")


def count(of: sa.CTE, *conditions: sa.ColumnElement[bool]) -> Any:
    """Return how many rows there are for which these hold."""
    return sa.select(sa.func.count()).select_from(of).where(*conditions).scalar_subquery()


def inserting(table: sa.Table, new: sa.Select[Any]) -> sa.Insert:
    """Return the INSERT of rows whose columns have the table's names."""
    columns = [str(column.key) for column in new.selected_columns]
    return sa.insert(table).from_select(columns, new, include_defaults=False)


def bumped(table: sa.Table, these: sa.ColumnElement[bool], so: sa.ColumnElement[bool]) -> sa.Update:
    """Return the UPDATE that raises the generation of each of these rows."""
    raised = {"generation": table.c.generation + 1, "updated_at": NOW}
    return sa.update(table).where(these, so).values(raised)


def changes(of: sa.FromClause, kind: ChangeKind, place: sa.ColumnElement[int]) -> Any:
    """Return rows for `telling`.

    :param of: has the `provider_id` of each provider that is written
    :param place: counts the rows from 1
    """
    return sa.select(
        of.c.provider_id.label("provider"),
        sa.literal_column(str(int(kind)), sa.SmallInteger).label("kind"),
        sa.cast(sa.null(), sa.String).label("uuid"),
        place.label("place"),
    )


def telling(
    changed: sa.CTE, number: sa.ColumnElement[int], *conditions: sa.ColumnElement[bool]
) -> tuple[sa.CTE, sa.CTE]:
    """Return the lane that the write takes if these conditions hold, and what appends there.

    :param changed: `changes`
    :param number: of these rows
    """
    usual = (feed_append.needs_no_trimming(number), *conditions)
    return feed_append.taking(changed, number, NOW, *usual)


def end(
    connection: Connection, write: Compiled, values: Mapping[str, Any], repeatable: bool = False
) -> StatementResult:
    """Let the message end with the statement that writes, and COMMIT.

    Return what the statement finds, which is known when the transaction has ended. See
    `Connection.end_with`.
    """
    lane = feed_lanes.advance(feed_lanes.home(connection)) | {"trim_every": change_feed.TRIM_EVERY}
    return connection.end_with(write, {**lane, "now": utcnow(), **values}, repeatable)


_CONSUMERS = sa.select(consumers.c.id).where(among(consumers.c.uuid, "uuids"))


def _lock_consumers() -> sa.Select[Any]:
    found = _CONSUMERS.order_by(consumers.c.id).with_for_update().subquery("locked")
    return sa.select(sa.func.set_config(_SETTING, in_one_text(found.c.id), sa.true()))


_LOCK_CONSUMERS = Compiled(
    _lock_consumers(), waits=RowLock(_CONSUMERS, consumers, consumers.c.uuid)
)


def lock_consumers(connection: Connection, uuids: Sequence[str]) -> None:
    """Lock the consumers with the message, and note which ones were found: `LOCKED`."""
    connection.later(_LOCK_CONSUMERS, {"uuids": uuids})
