"""Small SELECTs that go to the driver directly, because SQLAlchemy costs more than they do."""

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

Rows = list[tuple[Any, ...]]


class CompiledSelect:
    """A SELECT that is compiled once for each kind of database.

    :param statement: its parameters are plain values, none of them a list
    """

    def __init__(self, statement: sa.Select[Any]) -> None:
        self.statement = statement
        self._forms: dict[str, _Form] = {}

    def rows(self, cursor: Any, dialect: sa.Dialect, values: Mapping[str, Any]) -> Rows:
        """Return the rows that a driver's cursor finds. Raises the driver's errors."""
        form = self._forms.get(dialect.name)
        if form is None:
            form = self._forms[dialect.name] = _Form(self.statement, dialect)
        return form.rows(cursor, values)


class _Form:
    """The statement as text for one kind of database."""

    def __init__(self, statement: sa.Select[Any], dialect: sa.Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._text = str(compiled)
        self._places: list[str] | None = None
        if dialect.positional:
            self._places = list(compiled.positiontup or ())
        types = [column.type.dialect_impl(dialect) for column in statement.selected_columns]
        readers = (type_.result_processor(dialect, None) for type_ in types)
        #: by position in the row: converts the driver's value to Python's, where the driver doesn't
        self._readers: list[tuple[int, Callable[[Any], Any]]] = [
            (place, reader) for place, reader in enumerate(readers) if reader is not None
        ]

    def rows(self, cursor: Any, values: Mapping[str, Any]) -> Rows:
        places = self._places
        cursor.execute(
            self._text, values if places is None else tuple(values[name] for name in places)
        )
        rows = cursor.fetchall()
        if not self._readers:
            return list(rows)
        return [self._read(row) for row in rows]

    def _read(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        values = list(row)
        for place, reader in self._readers:
            values[place] = reader(values[place])
        return tuple(values)
