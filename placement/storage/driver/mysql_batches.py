"""Several statements to MariaDB or MySQL in one message, by PyMySQL.

A message to the server and back costs more than most statements. The server runs the statements of
a message one after the other, and none after the first that fails.
"""

import select
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

#: flag of a session: the server takes several statements in one message
MULTI_STATEMENTS = 1 << 16
#: flag of an answer: a transaction is open
_IN_TRANSACTION = 1
#: number of an error: a message could not be sent, so the server has not read all of it
_NOT_SENT = 2006
#: statements with more values than these go one by one: all together must not be longer than a
#: statement may be. Each value has up to 255 characters of 4 bytes, and
#: a server takes at least `LONGEST` bytes
_MOST_VALUES = 500
LONGEST = 1 << 20
#: attributes of exceptions
_STOPPED = "berth_stopped_before_the_last"
_TEXT = "berth_text"

#: a text; its values by position, or a list of such values; whether it is a list
Call = tuple[str, Any, bool]


class BatchResult:
    """What a statement found, with those attributes of a driver's cursor that readers use."""

    __slots__ = ("_rows", "description", "rowcount")

    def __init__(self, cursor: Any) -> None:
        self.description = cursor.description
        self.rowcount = cursor.rowcount
        self._rows = () if cursor.description is None else cursor.fetchall()

    def fetchall(self) -> Sequence[tuple[Any, ...]]:
        """Return all rows."""
        return self._rows


def run(connection: Any, calls: Sequence[Call]) -> list[BatchResult]:
    """Send the statements, in one message if they aren't too large; return what each found.

    After the first that fails, the server runs none of the others. Raises PyMySQL's exception for
    it (see `stopped_before_the_last` and `text_of`).
    """
    found: list[BatchResult] = []
    cursor = connection.cursor()
    try:
        for message in _messages(calls):
            text, values, many = message[0]
            if many:
                cursor.executemany(text, values)
            elif len(message) == 1:
                cursor.execute(text, values or None)
            else:
                texts = [cursor.mogrify(text, values or None) for text, values, _ in message]
                cursor.execute(";".join(texts))
            found.append(BatchResult(cursor))
            while not many and cursor.nextset():
                found.append(BatchResult(cursor))
    except Exception as error:
        number = error.args[0] if error.args else None
        setattr(error, _TEXT, calls[len(found)][0])
        is_told = isinstance(number, int) and not 2000 <= number < 3000
        setattr(error, _STOPPED, number == _NOT_SENT or (is_told and len(found) < len(calls) - 1))
        raise
    return found


def _messages(calls: Sequence[Call]) -> Iterator[Sequence[Call]]:
    """Yield the calls of each message."""
    if sum(map(_count, calls)) <= _MOST_VALUES and not any(many for _, _, many in calls):
        yield calls
    else:
        for call in calls:
            yield (call,)


def _count(call: Call) -> int:
    return sum(len(value) if isinstance(value, tuple) else 1 for value in call[1])


def stopped_before_the_last(error: BaseException) -> bool:
    """Return whether the last statement of `run` surely wasn't run."""
    return getattr(error, _STOPPED, False)


def text_of(error: BaseException) -> str | None:
    """Return the statement of `run` that failed."""
    return getattr(error, _TEXT, None)


def takes_several(cursor: Any) -> bool:
    """Return whether the server, or a proxy before it, takes several statements in one message."""
    try:
        cursor.execute("SELECT 1;SELECT 2")
        return bool(cursor.nextset()) and cursor.fetchall() == ((2,),)
    except cursor.connection.ProgrammingError:
        return False


def is_heard(connection: Any) -> bool:
    """Return whether a server that nobody asked has said something: that it ends the session."""
    heard = select.poll()
    heard.register(connection._sock, select.POLLIN)
    return bool(heard.poll(0))


def end_only_what_is_open(engine: sa.Engine) -> None:
    """Let the engine's COMMIT and ROLLBACK send nothing if no transaction is open.

    That is so after a COMMIT that went with other statements, and after a SELECT without a
    transaction. PyMySQL knows it from the server's last answer that wasn't a row.
    """
    dialect: Any = engine.dialect
    for name in ("do_commit", "do_rollback"):
        setattr(dialect, name, _if_open(getattr(dialect, name)))


def _if_open(end: Any) -> Any:
    def end_if_open(connection: Any) -> None:
        if connection.server_status & _IN_TRANSACTION:
            end(connection)

    return end_if_open
