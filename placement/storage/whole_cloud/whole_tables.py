"""Whole tables as arrays (architecture.rst D4).

The rows come about a thousand at a time. Other threads can run in between, and the process never
has all rows at once.

PostgreSQL puts each column of many rows into one array (`array_agg`), which the driver gives to
numpy: the rows (1, 8), (2, 4), (5, 8) come as [1, 2, 5] and [8, 4, 8]. Other databases send rows.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Connection
from placement.storage.uuid_rows import LENGTH, Uuids, uuid_rows
from placement.storage.whole_cloud import snapshot_reads as reads

Ids = npt.NDArray[np.int64]
#: of how many providers a statement reads the rows: in a load, and beside requests. With few, the
#: server has less to do at once, but more in all
MANY, FEW = 4096, 1024
#: how many rows are yielded together: while numpy works on them, other threads may have to wait
_PART = 1024
#: instead of NULL
_MISSING = -1


def providers(connection: Connection, most: int = MANY) -> Iterator[list[Any]]:
    """Yield the columns of all providers: ids, uuids as `Uuids`, parents, roots, generations.

    A provider without a parent has -1.

    :param most: how many providers one statement reads
    """
    if not connection.reads_arrays:
        yield from _rows(connection, reads.PROVIDERS)
        return
    odd = {key: uuid for key, uuid in connection.execute(_ODD).all()}
    after = _MISSING
    while (found := connection.arrays(_PROVIDERS, {"after": after, "most": most}))[0] is not None:
        yield from _with_uuids(found, odd)
        after = int(found[0].max())


def _with_uuids(columns: Sequence[object], odd: Mapping[int, str]) -> Iterator[list[object]]:
    for ids, texts, *numbers in _parts(columns):
        yield [ids, Uuids(texts, _odd_among(ids, odd)), *numbers]


def _odd_among(ids: Ids, odd: Mapping[int, str]) -> dict[int, str]:
    if not odd:
        return {}
    return {place: odd[key] for place, key in enumerate(ids.tolist()) if key in odd}


def of_providers(
    connection: Connection, question: reads.Question, ids: Ids, most: int = MANY
) -> Iterator[list[Any]]:
    """Yield the columns of a question; the first column has the ids of providers.

    :param ids: of the providers that exist, ascending; rows of others may be left out
    :param most: of how many providers one statement reads the rows
    """
    if not connection.reads_arrays:
        yield from _rows(connection, question)
        return
    packed = _packed(question[0])
    for begin in range(0, len(ids), most):
        part = ids[begin : begin + most]
        found = connection.arrays(packed, {"first": int(part[0]), "last": int(part[-1])})
        if found[0] is not None:
            yield from _parts(found)


def _parts(columns: Sequence[Any]) -> Iterator[list[Any]]:
    for begin in range(0, len(columns[0]), _PART):
        yield [column[begin : begin + _PART] for column in columns]


def _rows(connection: Connection, question: reads.Question) -> Iterator[list[object]]:
    columns = question[0].selected_columns
    options = {"stream_results": True, "max_row_buffer": MANY}
    with connection.plain.execute(question[0], execution_options=options) as result:
        for rows in result.partitions(_PART):
            found = zip(*rows, strict=True)
            yield [_array(column, values) for column, values in zip(columns, found, strict=True)]


def _array(column: sa.ColumnElement[Any], values: Sequence[Any]) -> object:
    if isinstance(column.type, sa.String):
        return uuid_rows(values)
    if isinstance(column.type, sa.Float):
        return np.array(values, np.float64)
    if getattr(column, "nullable", False):
        values = [_MISSING if value is None else value for value in values]
    return np.array(values, np.int64)


def _aggregated(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return the array of a column. Its elements have one length and are not NULL.

    A uuid of another length is replaced by blanks; `_ODD` reads it.
    """
    element: sa.ColumnElement[Any]
    if isinstance(column.type, sa.String):
        # a literal: the statement has no parameters but those that callers give
        none = sa.literal_column(f"repeat(' ', {LENGTH})", sa.Text)
        element = sa.case((_has_usual_length(column), sa.cast(column, sa.Text)), else_=none)
    elif isinstance(column.type, sa.Float):
        element = sa.cast(column, sa.Double)
    else:
        element = sa.func.coalesce(
            sa.cast(column, sa.BigInteger), sa.literal_column(str(_MISSING), sa.Integer)
        )
    return sa.func.array_agg(element)


def _has_usual_length(column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    # the driver gets it in UTF-8, whatever the database is encoded in
    text = sa.func.convert_to(column, sa.literal_column("'UTF8'", sa.Text))
    return sa.func.octet_length(text) == sa.literal_column(str(LENGTH), sa.Integer)


@functools.cache
def _packed(whole: sa.Select) -> Compiled:
    """Return the statement whose only row has an array for each column of a question.

    Its parameters are `first` and `last`, ids of providers.
    """
    (provider_id, *_) = whole.selected_columns
    some = whole.where(provider_id.between(sa.bindparam("first"), sa.bindparam("last"))).subquery()
    return Compiled(sa.select(*map(_aggregated, some.c)))


def _next_providers() -> Compiled:
    """Return the statement for the next `most` providers after the id `after`."""
    (whole, _) = reads.PROVIDERS
    provider_id = whole.selected_columns[0]
    some = whole.where(provider_id > sa.bindparam("after")).order_by(provider_id)
    next_ones = some.limit(sa.bindparam("most", type_=sa.Integer)).subquery()
    return Compiled(sa.select(*map(_aggregated, next_ones.c)))


def _odd_uuids() -> Compiled:
    """Return the statement for the providers whose uuids are not of the usual length."""
    provider_id, uuid, *_ = reads.PROVIDERS[0].selected_columns
    return Compiled(sa.select(provider_id, uuid).where(sa.not_(_has_usual_length(uuid))))


_PROVIDERS = _next_providers()
_ODD = _odd_uuids()
