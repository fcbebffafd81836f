"""PostgreSQL's statement that takes positions of a free lane and appends rows there.

Other databases, and a write that finds no lane free, do so in several (`change_feed.record_each`).
"""

import datetime

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.feed import feed_lanes
from placement.storage.tables import change_lanes, provider_changes


def _given() -> sa.FromClause:
    """Return the lists that `ADVANCE_AND_APPEND` gets as rows; `place` counts from 1."""
    lists = (
        sa.bindparam("providers", type_=sa.ARRAY(sa.Integer)),
        sa.bindparam("kinds", type_=sa.ARRAY(sa.SmallInteger)),
        sa.bindparam("uuids", type_=sa.ARRAY(sa.String)),
    )
    columns = (
        sa.column("provider", sa.Integer),
        sa.column("kind", sa.SmallInteger),
        sa.column("uuid", sa.String),
    )
    unnested = sa.func.unnest(*lists).table_valued(*columns, with_ordinality="place")
    return unnested.render_derived(name="given")


def taking(
    given: sa.FromClause,
    count: sa.ColumnElement[int],
    now: sa.ColumnElement[datetime.datetime],
    *conditions: sa.ColumnElement[bool],
) -> tuple[sa.CTE, sa.CTE]:
    """Make the parts of PostgreSQL's statement that take positions of a free lane and append there.

    Return the lane, with its last position, and what appends. It is no row, and nothing happens,
    if none is free or a condition doesn't hold.

    :param given: rows with `provider`, `kind`, `uuid` and `place`
    :param count: the number of these rows
    """
    taken = feed_lanes.advance_free(count, *conditions).cte("taken")
    row = {
        "created_at": now,
        "resource_provider_id": given.c.provider,
        "kind": given.c.kind,
        "lane": taken.c.id,
        "position": taken.c.position - count + given.c.place,
        "before": taken.c.before,
        "resource_provider_uuid": given.c.uuid,
    }
    rows = sa.select(*row.values()).select_from(taken.join(given, sa.true()))
    append = sa.insert(provider_changes).from_select(list(row), rows, include_defaults=False)
    return taken, append.cte("appended")


def needs_no_trimming(count: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Return the condition of `taking` that nothing has to be trimmed afterwards.

    Its parameter `trim_every` is `change_feed.TRIM_EVERY`.
    """
    every = sa.bindparam("trim_every", type_=sa.BigInteger)
    before, after = change_lanes.c.position, change_lanes.c.position + count
    return before - before % every == after - after % every


_TAKEN, _APPENDING = taking(_given(), feed_lanes.COUNT, sa.bindparam("now", type_=sa.DateTime))
#: returns the last position, or no row if no lane is free
ADVANCE_AND_APPEND = Compiled(sa.select(_TAKEN.c.position).add_cte(_APPENDING))
