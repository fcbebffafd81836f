"""Allocation ratios in SQL, as exact as the number that a client reads.

MySQL stores FLOAT columns in single precision. It returns 1.1, the shortest number that is stored
as the same value, but calculates with 1.10000002384. The columns are the reference's and can't
change, so the exact number is read from its text (rest-api.md 6.1).
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles


class exact(sa.ColumnElement[float]):  # noqa: N801 – reads like SQLAlchemy's own
    """The value of a Float column as clients read it."""

    inherit_cache = True
    type = sa.Double()

    def __init__(self, column: sa.Column) -> None:
        self.column = column

    _traverse_internals = [("column", sa.sql.visitors.InternalTraversal.dp_clauseelement)]


@compiles(exact)
def _as_it_is(element: exact, compiler: Any, **options: Any) -> str:
    return compiler.process(element.column, **options)


@compiles(exact, "mysql")
@compiles(exact, "mariadb")
def _from_its_text(element: exact, compiler: Any, **options: Any) -> str:
    return f"(CONCAT({compiler.process(element.column, **options)}) + 0e0)"
