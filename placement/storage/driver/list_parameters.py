"""Lists as parameters of statements, of any length and in the same way on every database.

For `IN`, drivers send one parameter for each value. PostgreSQL takes 65,535 parameters and SQLite
32,766 or 250,000, but one request may name more consumers. Here a list is a single parameter. On
MariaDB and MySQL, `IN` has no such limit, because the driver writes the values into the statement.
"""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.visitors import InternalTraversal

T = TypeVar("T")

#: option of PostgreSQL's compiler: the lengths in which short lists are written, by name
LENGTHS = "lengths"
#: the maximum number of names in one statement; names may have any character
NAMES_PER_STATEMENT = 10_000


class among(sa.ColumnElement[bool]):  # noqa: N801 – reads like SQLAlchemy's own
    """The condition that a column of ids or uuids is in the list that is the parameter `name`."""

    inherit_cache = True
    type = sa.Boolean()
    _traverse_internals = [
        ("column", InternalTraversal.dp_clauseelement),
        ("name", InternalTraversal.dp_string),
    ]

    def __init__(self, column: sa.Column, name: str) -> None:
        self.column = column
        self.name = name

    def self_group(self, against: object = None) -> Any:
        return self


class _JSONList(sa.types.TypeDecorator):
    """Ids or uuids as a text that SQLite reads as JSON."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else json.dumps(list(value))


@compiles(among)
def _in_list(element: among, compiler: Any, **options: Any) -> str:
    values = sa.bindparam(element.name, expanding=True, type_=element.column.type)
    return compiler.process(element.column.in_(values), **options)


@compiles(among, "postgresql")
def _any_of_array(element: among, compiler: Any, **options: Any) -> str:
    length = options.get(LENGTHS, {}).get(element.name)
    if length is not None:
        names = places_of(element.name, length)
        short = [sa.bindparam(name, type_=element.column.type) for name in names]
        equal = element.column == short[0] if length == 1 else element.column.in_(short)
        return compiler.process(equal, **options)
    # imported here because other databases don't need it
    from placement.storage.driver.postgresql_lists import List

    values = sa.bindparam(element.name, type_=List(element.column.type))
    return compiler.process(element.column == sa.any_(values), **options)


def places_of(name: str, length: int) -> list[str]:
    """Return the names of the parameters of a short list."""
    return [f"{name}_{place}" for place in range(length)]


@compiles(among, "sqlite")
def _in_json(element: among, compiler: Any, **options: Any) -> str:
    column = compiler.process(element.column, **options)
    values = compiler.process(sa.bindparam(element.name, type_=_JSONList()), **options)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608


def lists_in(statement: Any) -> tuple[str, ...]:
    """Return the names of the lists of a statement."""
    names: dict[str, None] = {}
    seen: set[Any] = set()
    left = [statement]
    while left:
        part = left.pop()
        if part in seen:
            continue
        seen.add(part)
        if isinstance(part, among):
            names[part.name] = None
        left += part.get_children()
        # a column in a condition of an UPDATE may be all that leads to its subquery
        if isinstance(table := getattr(part, "table", None), sa.CTE):
            left.append(table)
    return tuple(names)


def parts(names: Iterable[T], size: int = NAMES_PER_STATEMENT) -> Iterator[list[T]]:
    """Split names or ids into lists that fit into one statement; yield nothing for none."""
    left = iter(names)
    while part := list(itertools.islice(left, size)):
        yield part
