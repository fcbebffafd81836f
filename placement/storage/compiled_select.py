"""Questions of one small statement, put to the driver without SQLAlchemy's long way to it."""

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

    def put(self, cursor: Any, dialect: sa.Dialect, values: Mapping[str, Any]) -> Rows:
        """What a driver's cursor answers. Raises the driver's errors."""
        form = self._forms.get(dialect.name)
        if form is None:
            form = self._forms[dialect.name] = _Form(self.statement, dialect)
        return form.put(cursor, values)


class _Form:
    """The statement as one kind of database wants it."""

    def __init__(self, statement: sa.Select[Any], dialect: sa.Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._text = str(compiled)
        self._places: list[str] | None = None
        if dialect.positional:
            self._places = list(compiled.positiontup or ())
        types = [column.type.dialect_impl(dialect) for column in statement.selected_columns]
        readers = (type_.result_processor(dialect, None) for type_ in types)
        #: what turns the driver's values into Python's, where it doesn't itself
        self._readers: list[tuple[int, Callable[[Any], Any]]] = [
            (place, reader) for place, reader in enumerate(readers) if reader is not None
        ]

    def put(self, cursor: Any, values: Mapping[str, Any]) -> Rows:
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
