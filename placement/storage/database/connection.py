"""What operations and questions are given: a connection in a transaction."""

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, overload

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from placement.storage.database.assumptions import Unusual
from placement.storage.database.compiled import Awaited, Compiled, DriverText, RowLock, Rows
from placement.storage.database.engine_setup import StatementCount
from placement.storage.database.lock_limits import LIMIT, is_limit, limited, note_if_stopped
from placement.storage.database.lock_waits import LockWaits, StillLocked
from placement.storage.driver.dialects import MYSQL
from placement.storage.driver.drivers import Call, Run, StatementDriver, failed_statement

#: a statement, and its values by name
Question = tuple[Compiled, Any]


class StatementResult:
    """The rows that a statement found, and how many it found or changed."""

    __slots__ = ("_rows", "rowcount")

    def __init__(self, rows: Rows, rowcount: int) -> None:
        self.fill(rows, rowcount)

    def fill(self, rows: Rows, rowcount: int) -> None:
        """Take what was found, if that is known only now."""
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
    raise the same exceptions, and listeners of SQLAlchemy's `before_cursor_execute` see both.

    Where the driver can send several statements in one message, a statement whose answer nobody
    needs (`later`) isn't sent at once. It goes with the next statement whose answer is needed, or
    with what ends the transaction (`settle`).

    :param plain: SQLAlchemy's connection
    :param statements: counts the statements
    :param driver: None: all statements go through SQLAlchemy
    :param assumes: whether the property `assumes` may be true
    :param waits: who waits for locks in this process; None: it waits itself, longer than shortly
    """

    def __init__(
        self,
        plain: sa.Connection,
        statements: StatementCount,
        driver: StatementDriver | None,
        assumes: bool = False,
        waits: LockWaits | None = None,
    ) -> None:
        self._plain = plain
        self._waits = waits
        self._statements = statements
        self._driver = driver
        self._pooled = plain.connection
        self._hooks: Any = plain.engine.dispatch.before_cursor_execute
        # a listener expects each statement when it is run, so none is put off for later
        self._batches = driver is not None and not self._hooks and driver.batches(self._pooled)
        if plain.dialect.name in MYSQL and waits is None:
            # MySQL has no limit for several locks in one message (`lock_limits.py`)
            self._batches = False
        # nor is the end, if somebody listens for it
        self._assumes = assumes and self._batches and not plain.engine.dispatch.commit
        #: the last statement of a transaction that `end_with` ends, and what it will have found
        self._last: tuple[DriverText, StatementResult] | None = None
        #: whether the operation is refused if it has happened before
        self.is_repeatable = False
        #: whether the end of the transaction was sent, and may have been reached
        self.is_ending = False
        #: what begins the transaction, if it has not been sent yet
        self._beginning: list[Call] = []
        self._waiting: list[Call] = []
        #: by the texts of the next message that wait for rows, which rows these are
        self._rows_to_lock: dict[str, Awaited] = {}
        #: what the statement waits for that runs or failed; None: it locks no rows by itself
        self.awaited: Awaited | None = None
        #: what is asked along with the next message, and its answer
        self._along: Question | None = None
        self._answer_along: StatementResult | None = None

    @property
    def plain(self) -> sa.Connection:
        """SQLAlchemy's connection; statements that were put off are sent first."""
        self._send([])
        return self._plain

    @property
    def dialect(self) -> sa.Dialect:
        """The kind of database."""
        return self._plain.dialect

    @property
    def info(self) -> dict[Any, Any]:
        """What is known of the session."""
        return self._plain.info

    @overload
    def execute(self, statement: Compiled, values: object = None) -> StatementResult: ...
    @overload
    def execute(self, statement: sa.Executable, values: object = None) -> Any: ...

    def execute(self, statement: Compiled | sa.Executable, values: Any = None) -> object:
        """Run a statement.

        :param values: by name; a list of them stores several rows
        """
        if not isinstance(statement, Compiled):
            return self.plain.execute(statement, values)
        if self._driver is None:
            self.awaited = None
            if statement.waits is not None:
                self.awaited = self._awaited(statement.waits, values)
            found = self.plain.execute(statement.statement, values)
            rows = [tuple(row) for row in found] if found.returns_rows else []
            return StatementResult(rows, found.rowcount)
        form, call = self._call(self._driver, statement, values)
        found = self._send([call])[-1]
        return StatementResult(form.rows(found), found.rowcount)

    def execute_all(self, *questions: Question) -> list[StatementResult]:
        """Run statements, each with its values, in one message if that can be."""
        if not questions or self._driver is None or not self._batches:
            return [self.execute(*question) for question in questions]
        along, self._along = self._along, None
        asked = [*questions, along] if along else questions
        given = [self._call(self._driver, *question) for question in asked]
        found = self._send([call for _, call in given])[-len(given) :]
        answers = [
            StatementResult(form.rows(one), one.rowcount)
            for (form, _), one in zip(given, found, strict=True)
        ]
        if along:
            self._answer_along = answers.pop()
        return answers

    def ask_along(self, question: Question) -> None:
        """Ask a question with the next ones of `execute_all`, if that can be in one message."""
        if self._batches:
            self._along = question

    def answered_along(self) -> StatementResult | None:
        """Return the answer to what was asked along, the first time; None: it wasn't."""
        answer, self._answer_along = self._answer_along, None
        return answer

    @property
    def reads_arrays(self) -> bool:
        """Whether `arrays` can be called."""
        return self._driver is not None and self._driver.arrays is not None

    def arrays(self, statement: Compiled, values: object) -> tuple[Any, ...]:
        """Return the only row that a statement finds; its arrays are numpy's."""
        assert self._driver is not None
        self._send([])
        _, call = self._call(self._driver, statement, values)
        return self._send([call], self._driver.arrays)[0]

    def later(self, statement: Compiled, values: object = None) -> None:
        """Run a statement whose answer nobody needs, at the latest at the end of the transaction.

        It may fail as late as that.
        """
        if self._driver is None or not self._batches:
            self.execute(statement, values)
        else:
            self._waiting.append(self._call(self._driver, statement, values)[1])

    def begin(self, text: str) -> None:
        """Begin the transaction with a text without values. It isn't counted."""
        if self._batches:
            self._beginning.append((text, (), False))
            return
        try:
            self._pooled.cursor().execute(text)
        except BaseException as error:
            self._raise(error, text, ())

    @property
    def assumes(self) -> bool:
        """Whether statements may be put off with the end that write only in the usual case.

        See `storage.database.assumptions` and `end_with`.
        """
        driver = self._driver
        return self._assumes and driver is not None and driver.may_commit_with(self._pooled)

    def end_with(
        self, statement: Compiled, values: object, repeatable: bool = False
    ) -> StatementResult:
        """Let a statement and the end of the transaction go with what was put off, in one message.

        Call it only if `assumes`. The statement finds a row if it has written. Return what it
        finds, which is known when the transaction has ended. If the connection is lost, nobody
        knows whether the end was reached.

        :param repeatable: whether the operation is refused if it has happened before
        """
        assert self._driver is not None
        form, call = self._call(self._driver, statement, values)
        self._waiting.append(call)
        self._last, self.is_repeatable = (form, StatementResult([], 0)), repeatable
        return self._last[1]

    @property
    def has_assumed(self) -> bool:
        """Whether the end goes with the statements that were put off: see `end_with`."""
        return self._last is not None

    def settle(self, ending: str | None = None) -> None:
        """Send the statements that were put off, and what ends the transaction after them.

        Raises Unusual if they have written nothing.

        :param ending: a text without values, sent only after `end_with`. It isn't counted
        """
        if ending is not None and self._last is not None:
            self.is_ending = True
            *_, written, _ = self._send([], ending=[(ending, (), False)])
            if not written.rowcount:
                raise Unusual
            form, result = self._last
            result.fill(form.rows(written), written.rowcount)
        elif self._waiting:
            self._send([], ending=self._end_with_writes(ending))

    def _end_with_writes(self, ending: str | None) -> list[Call]:
        """Return what ends the transaction, if it may go with what the transaction stores."""
        driver = self._driver
        if (
            ending is None
            or driver is None
            # a session that the server has ended isn't known as such before it answers
            or self._beginning
            or self._plain.engine.dispatch.commit
            or not driver.may_end_with_writes(self._pooled)
        ):
            return []
        self.is_ending = True
        return [(ending, (), False)]

    def _call(
        self, driver: StatementDriver, statement: Compiled, values: Any
    ) -> tuple[DriverText, Call]:
        if not isinstance(values, list):
            form = statement.form(driver, values or {})
            if statement.waits is not None:
                self._rows_to_lock[form.text] = self._awaited(statement.waits, values)
            return form, (form.text, form.placed(values or {}), False)
        form = statement.form(driver, values[0])
        text = form.text_for(len(values))
        places = [form.placed(row) for row in values]
        if text is None:
            return form, (form.text, places, True)
        return form, (text, tuple([value for row in places for value in row]), False)

    def _awaited(self, lock: RowLock, values: Any) -> Awaited:
        """Return what a statement waits for. Raises StillLocked if others wait for it already."""
        awaited = Awaited(lock, values)
        if self._waits is not None and self._waits.awaits(lock.table, values):
            self.awaited = awaited
            raise StillLocked()
        return awaited

    def _send(
        self, calls: list[Call], run: Run | None = None, ending: Sequence[Call] = ()
    ) -> list[Any]:
        """Send the statements that were put off, then these; return what each found.

        :param run: sends them all in place of `StatementDriver.run`
        :param ending: ends the transaction
        """
        waiting = [*self._waiting, *calls]
        beginning, self._beginning, self._waiting = self._beginning, [], []
        rows, self._rows_to_lock = self._rows_to_lock, {}
        if self._driver is None or not (beginning or waiting or ending):
            return []
        if self._hooks:
            shown = [self._shown(call) for call in waiting]
            rows = {
                new[0]: rows[old[0]]
                for old, new in zip(waiting, shown, strict=True)
                if old[0] in rows
            }
            waiting = shown
        self._statements.count += len(waiting)
        if rows and LIMIT in self.info:
            waiting, rows = limited(
                self.dialect, self._driver, waiting, rows, self.info[LIMIT], self._waits is None
            )
        calls = [*beginning, *waiting, *ending]
        try:
            found = (run or self._driver.run)(self._pooled, calls)
            if not rows:
                return found
            return [one for one, call in zip(found, calls, strict=True) if not is_limit(call)]
        except BaseException as error:
            text, stopped = failed_statement(error)
            note_if_stopped(error, text, rows)
            # without a text, the message had no other statement
            self.awaited = rows.get(text) if text is not None else next(iter(rows.values()), None)
            self.is_ending &= not stopped
            _, values, _ = next((call for call in calls if call[0] == text), calls[-1])
            self._raise(error, "; ".join(text for text, _, _ in calls), values)
        finally:
            if self._hooks:
                self._statements.end()

    def _shown(self, call: Call) -> Call:
        text, values, many = call
        for hook in self._hooks:
            text, values = hook(self._plain, None, text, values, None, many)
        return text, values, many

    def _raise(self, error: BaseException, text: str, values: Any) -> NoReturn:
        """Raise SQLAlchemy's exception for an error of the driver; other exceptions as they are.

        After an exception that ends a thread, such as SystemExit, and after the connection was
        lost, the pool doesn't use the connection again.
        """
        if not isinstance(error, Exception):
            self._plain.invalidate(error)
            raise error
        kinds: Any = self.dialect.loaded_dbapi
        if not isinstance(error, kinds.Error):
            raise error
        lost = self.dialect.is_disconnect(error, self._pooled, None)
        if lost and not self._plain.invalidated:
            self._plain.invalidate(error)
        raise DBAPIError.instance(
            text, values, error, kinds.Error, connection_invalidated=lost, dialect=self.dialect
        ) from error
