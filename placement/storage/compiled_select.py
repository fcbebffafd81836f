"""Small SELECTs that go to the driver directly, because SQLAlchemy costs more than they do."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

Rows = list[tuple[Any, ...]]
#: by position in the row
Readers = list[tuple[int, Callable[[Any], Any]]]
Select = sa.Select[Any] | sa.CompoundSelect[Any]


class CompiledSelect:
    """A SELECT that is compiled once for each kind of database.

    :param statement: its parameters are plain values, none of them a list
    """

    def __init__(self, statement: Select) -> None:
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

    def __init__(self, statement: Select, dialect: sa.Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._text = str(compiled)
        #: the statement's own constants, which SQLAlchemy sends as parameters
        self._constants = {
            name: value for name, value in compiled.params.items() if value is not None
        }
        self._places: list[str] | None = None
        if dialect.positional:
            self._places = list(compiled.positiontup or ())
        self._dialect = dialect
        self._types = [column.type.dialect_impl(dialect) for column in statement.selected_columns]
        self._readers: Readers | None = None

    def rows(self, cursor: Any, values: Mapping[str, Any]) -> Rows:
        places = self._places
        if self._constants:
            values = {**self._constants, **values}
        cursor.execute(
            self._text, values if places is None else tuple(values[name] for name in places)
        )
        rows = cursor.fetchall()
        if self._readers is None:
            self._readers = self._readers_of(cursor.description)
        if not self._readers:
            return list(rows)
        return [self._read(row, self._readers) for row in rows]

    def _readers_of(self, description: Sequence[Any]) -> Readers:
        """Return what converts the driver's values to Python's, where the driver doesn't.

        Whether it does, can depend on the type that the driver says a column has.
        """
        readers = (
            type_.result_processor(self._dialect, column[1])
            for type_, column in zip(self._types, description, strict=True)
        )
        return [(place, reader) for place, reader in enumerate(readers) if reader is not None]

    @staticmethod
    def _read(row: tuple[Any, ...], readers: Readers) -> tuple[Any, ...]:
        values = list(row)
        for place, reader in readers:
            values[place] = reader(values[place])
        return tuple(values)
