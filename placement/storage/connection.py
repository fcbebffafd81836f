"""What operations and questions are given: a connection in a transaction."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from placement.storage.compiled import Compiled, Form, Rows
from placement.storage.drivers import Driver
from placement.storage.statement_count import StatementCount


class Answer:
    """The rows that a statement found, and how many it found or changed."""

    __slots__ = ("_rows", "rowcount")

    def __init__(self, rows: Rows, rowcount: int) -> None:
        self._rows, self.rowcount = rows, rowcount

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def all(self) -> Rows:
        """Return all rows."""
        return self._rows

    def first(self) -> Any:
        """Return the first row, or None."""
        return self._rows[0] if self._rows else None

    def scalar(self) -> Any:
        """Return the first value of the first row, or None."""
        return self._rows[0][0] if self._rows else None

    def scalars(self) -> list[Any]:
        """Return the first value of each row."""
        return [row[0] for row in self._rows]


class Connection:
    """A connection in a transaction.

    Statements that were compiled once go to its driver directly; others go through SQLAlchemy. Both
    fail with the same exceptions, and both are seen by who listens for SQLAlchemy's
    `before_cursor_execute`.

    :param plain: SQLAlchemy's connection
    :param statements: counts the statements
    :param driver: None: all statements go through SQLAlchemy
    """

    def __init__(
        self, plain: sa.Connection, statements: StatementCount, driver: Driver | None
    ) -> None:
        self.plain = plain
        self._statements = statements
        self._driver = driver
        self._pooled = plain.connection
        self._hooks: Any = plain.engine.dispatch.before_cursor_execute

    @property
    def dialect(self) -> sa.Dialect:
        """The kind of database."""
        return self.plain.dialect

    @property
    def info(self) -> dict[Any, Any]:
        """What is known of the session."""
        return self.plain.info

    @overload
    def execute(self, statement: Compiled, values: Any = None) -> Answer: ...
    @overload
    def execute(self, statement: sa.Executable, values: Any = None) -> Any: ...

    def execute(self, statement: Compiled | sa.Executable, values: Any = None) -> Any:
        """Run a statement.

        :param values: by name; a list of them stores several rows
        """
        if not isinstance(statement, Compiled):
            return self.plain.execute(statement, values)
        if self._driver is None:
            found = self.plain.execute(statement.statement, values)
            rows = [tuple(row) for row in found] if found.returns_rows else []
            return Answer(rows, found.rowcount)
        if isinstance(values, list):
            return self._store(statement.form(self._driver, values[0]), values)
        form = statement.form(self._driver, values or {})
        return self._send(form, form.text, form.placed(values or {}))

    def send(self, text: str) -> None:
        """Hand a text without values to the driver. It isn't counted."""
        try:
            self._pooled.cursor().execute(text)
        except BaseException as error:
            known = self._known(error, text, ())
            if known is error:
                raise
            raise known from error

    def _store(self, form: Form, rows: Sequence[Mapping[str, Any]]) -> Answer:
        text = form.text_for(len(rows))
        places = [form.placed(row) for row in rows]
        if text is None:
            return self._send(form, form.text, places, many=True)
        return self._send(form, text, tuple([value for row in places for value in row]))

    def _send(self, form: Form, text: str, values: Any, many: bool = False) -> Answer:
        if self._driver is None:
            raise RuntimeError("There is no driver to send to.")
        cursor = self._driver.cursor(self._pooled)
        for hook in self._hooks:
            text, values = hook(self.plain, cursor, text, values, None, many)
        self._statements.sent()
        try:
            if many:
                cursor.executemany(text, values)
                rows: Rows = []
            else:
                cursor.execute(text, values)
                rows = form.rows(cursor)
            return Answer(rows, cursor.rowcount)
        except BaseException as error:
            known = self._known(error, text, values)
            if known is error:
                raise
            raise known from error
        finally:
            self._statements.end()

    def _known(self, error: BaseException, text: str, values: Any) -> BaseException:
        """Return SQLAlchemy's exception for an error of the driver; other exceptions as they are.

        After a lost connection, and after what ends a thread, the connection isn't used again.
        """
        if not isinstance(error, Exception):
            self.plain.invalidate(error)
            return error
        kinds: Any = self.dialect.loaded_dbapi
        if not isinstance(error, kinds.Error):
            return error
        lost = self.dialect.is_disconnect(error, self._pooled, None)
        if lost and not self.plain.invalidated:
            self.plain.invalidate(error)
        return DBAPIError.instance(
            text, values, error, kinds.Error, connection_invalidated=lost, dialect=self.dialect
        )
