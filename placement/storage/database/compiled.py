"""Statements that are compiled once and go to the driver directly.

SQLAlchemy writes the text of a statement, once in a process. To send it through SQLAlchemy, too,
would cost several times as much as the driver itself. So for each execution, this module puts the
values into the order of the text's parameters, and converts values and rows where the driver
doesn't::

    Compiled(sa.select(…))          one for each statement, made at import
        .form(driver, values)       its text for one driver, made at the first use: a DriverText
            .placed(values)         the values by position, as the driver wants them
            .rows(cursor)           the rows found, as Python's values
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import sqlalchemy as sa

from placement.storage.driver.drivers import NUMBERED, StatementDriver
from placement.storage.driver.list_parameters import LENGTHS, lists_in, places_of

Rows = list[tuple[Any, ...]]
Values = Mapping[str, Any]
#: what converts a value of a row, with the value's position in the row
Readers = list[tuple[int, Callable[[Any], Any]]]
#: lists by name, with the lengths in which short ones are written
Lengths = tuple[tuple[str, int | None], ...]
#: PostgreSQL plans a prepared statement with a list anew each time, because it takes any list for
#: one of ten elements. Short lists are written as so many parameters, of which the last may repeat;
#: by the number of their elements
_SHORT = {1: 1, 2: 2, 3: 4, 4: 4}
#: Up to so many rows are stored by one INSERT that has parameters for each of them. For more rows
#: the driver repeats the statement.
_ROWS_AT_ONCE = 32
#: how SQLAlchemy marks a list whose length it doesn't know. It does so for MariaDB and MySQL, whose
#: drivers write the list themselves
_OPEN_LIST = re.compile(r"\(__\[POSTCOMPILE_(\w+)\]\)")
_NUMBER = re.compile(r"\$(\d+)")
_ROW = re.compile(r"^(INSERT INTO .*? VALUES )(\(.*\))((?: ON .*)?)$", re.DOTALL)


class Compiled:
    """A statement.

    :param statement: lists of values in it are written with `among`. The columns of an INSERT are
        the names of the values that it is given, and those that have a default
    :param waits: the rows whose locks it waits for, which its values name; None: it waits for none
    """

    def __init__(self, statement: sa.Executable, waits: "RowLock | None" = None) -> None:
        self.statement = statement
        self.waits = waits
        self._is_insert = isinstance(statement, sa.Insert)
        self._forms: dict[Any, DriverText] = {}

    def form(self, driver: StatementDriver, given: Values) -> "DriverText":
        """Return the statement as text for a driver.

        :param given: the values; for an INSERT their names decide, for lists their lengths
        """
        lengths: Lengths = ()
        if driver.style == NUMBERED and self._lists:
            lengths = tuple([(name, _SHORT.get(len(given[name]))) for name in self._lists])
        key = (driver, *given) if self._is_insert else (driver, lengths)
        form = self._forms.get(key)
        if form is None:
            columns = list(given) if self._is_insert else None
            form = self._forms[key] = DriverText(self.statement, driver, columns, lengths)
        return form

    @functools.cached_property
    def _lists(self) -> tuple[str, ...]:
        return lists_in(self.statement)


class RowLock:
    """What a locking statement waits for, as statements (see `lock_waits.py`).

    `seen` finds the ids and names of the rows, `free` locks those that nobody has locked, and finds
    the same of them; both have the values of the statement. `one` locks the row of an `id`, and
    waits for it.

    :param rows: the rows of `table` that the statement locks, without a lock
    :param name: how statements name rows, beside their ids
    :param read: how strongly it locks them, as `with_for_update` says it
    :param key_share: likewise
    """

    def __init__(
        self,
        rows: sa.Select[Any],
        table: sa.Table,
        name: sa.ColumnElement[str],
        read: bool = False,
        key_share: bool = False,
    ) -> None:
        row_id = table.c.id
        ids = rows.with_only_columns(row_id, name).order_by(None)
        one = sa.select(row_id).where(row_id == sa.bindparam("id", type_=sa.Integer))
        self.table = table.name
        self.seen = Compiled(ids)
        self.free = Compiled(ids.with_for_update(read=read, key_share=key_share, skip_locked=True))
        self.one = Compiled(one.with_for_update(read=read, key_share=key_share))


@dataclasses.dataclass(frozen=True)
class Awaited:
    """What one execution of a locking statement waits for.

    :param values: of the statement
    """

    lock: RowLock
    values: Values

    @property
    def count(self) -> int:
        """How many values name the rows: not fewer than there are rows."""
        return sum(len(some) if isinstance(some, list) else 1 for some in self.values.values())


class DriverText:
    """A statement as text for one driver.

    :param lengths: of its lists
    """

    def __init__(
        self,
        statement: sa.Executable,
        driver: StatementDriver,
        columns: list[str] | None,
        lengths: Lengths,
    ) -> None:
        if isinstance(statement, sa.Insert):
            # nobody asks for the new ids
            statement = statement.inline()
        compiled: Any = statement.compile(  # type: ignore[attr-defined]
            dialect=driver.dialect, column_keys=columns, compile_kwargs={LENGTHS: dict(lengths)}
        )
        self._short = [(name, places_of(name, length)) for name, length in lengths if length]
        self._open_lists = set(_OPEN_LIST.findall(compiled.string))
        if self._open_lists and driver.style != "format":
            raise TypeError(f"a list that isn't written with among: {compiled.string}")
        self.text = _OPEN_LIST.sub("%s", compiled.string)
        self._names: tuple[str, ...] = tuple(compiled.positiontup or ())
        #: the statement's own constants, which SQLAlchemy sends as parameters
        self._constants = {
            name: bind.effective_value
            for bind, name in compiled.bind_names.items()
            if not bind.required
        }
        self._defaults = {column.key: column.default for column in compiled.insert_prefetch} | {
            column.key: column.onupdate for column in compiled.update_prefetch
        }
        self._dialect = driver.dialect
        self._is_insert = columns is not None
        self._writers = _writers(compiled, driver)
        types = getattr(statement, "selected_columns", ()) or _returned(statement)
        self._types = [column.type.dialect_impl(driver.dialect) for column in types]
        self._readers: Readers | None = None
        self._numbered = driver.style == NUMBERED
        #: the texts of an INSERT, by the number of its rows
        self._texts: dict[int, str] = {1: self.text}

    def placed(self, given: Values) -> tuple[object, ...]:
        """Return the values in the order of their places in the text."""
        values: dict[str, Any] = {**self._constants}
        for name, default in self._defaults.items():
            if name not in given:
                values[name] = default.arg(None) if default.is_callable else default.arg
        values.update(given)
        for name, places in self._short:
            *_, last = given[name]
            values.update(zip_longest(places, given[name], fillvalue=last))
        for name, writer in self._writers.items():
            values[name] = writer(values[name])
        for name in self._open_lists:
            # `IN ()` is no SQL, so an empty list becomes one that matches nothing: `IN (NULL)`
            values[name] = tuple(values[name]) or (None,)
        return tuple([values[name] for name in self._names])

    def rows(self, cursor: Any) -> Rows:
        """Return what the cursor found."""
        if cursor.description is None:
            return []
        rows = cursor.fetchall()
        readers = self._readers
        if readers is None:
            readers = self._readers = self._readers_of(cursor.description)
        if not readers:
            return rows if isinstance(rows, list) else list(rows)
        return [_read(row, readers) for row in rows]

    @functools.cached_property
    def _parts_of_insert(self) -> tuple[str, str, str]:
        found = _ROW.match(self.text)
        if found is None:
            raise TypeError(f"no INSERT of rows: {self.text}")
        head, row, tail = found.groups()
        return head, row, tail

    def text_for(self, count: int) -> str | None:
        """Return the text for so many rows; None: the driver has to repeat the statement."""
        text = self._texts.get(count)
        if text is None:
            if count > _ROWS_AT_ONCE or not self._is_insert:
                return None
            text = self._texts[count] = self._text_for(count)
        return text

    def _text_for(self, count: int) -> str:
        head, row, tail = self._parts_of_insert
        if self._numbered:
            rows = [_shifted(row, number * len(self._names)) for number in range(count)]
        else:
            rows = [row] * count
        return head + ", ".join(rows) + tail

    def _readers_of(self, description: Sequence[Any]) -> Readers:
        """Return what converts the driver's values to Python's, where the driver doesn't.

        This can depend on the type of the column in the answer, which the driver names.
        """
        readers = (
            type_.result_processor(self._dialect, column[1])
            for type_, column in zip(self._types, description, strict=True)
        )
        return [(place, reader) for place, reader in enumerate(readers) if reader is not None]


def _writers(compiled: Any, driver: StatementDriver) -> dict[str, Callable[[Any], Any]]:
    """Return what converts Python's values to the driver's, by name, where the driver doesn't."""
    writers = {}
    for bind, name in compiled.bind_names.items():
        writer = bind.type.dialect_impl(driver.dialect).bind_processor(driver.dialect)
        if writer is not None and name not in compiled.post_compile_params:
            writers[name] = writer
    return writers


def _returned(statement: object) -> Sequence[Any]:
    return getattr(statement, "_returning", ())


def _read(row: Sequence[object], readers: Readers) -> tuple[object, ...]:
    values = list(row)
    for place, reader in readers:
        values[place] = reader(values[place])
    return tuple(values)


def _shifted(row: str, by: int) -> str:
    return _NUMBER.sub(lambda found: f"${int(found[1]) + by}", row)
