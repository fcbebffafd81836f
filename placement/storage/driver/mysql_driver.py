"""Several statements to MariaDB or MySQL in one message, by PyMySQL.

A message to the server and back costs more than most statements. The server runs the statements of
a message one after the other, and none after the first that fails. `message_answers.py` reads the
answers.
"""

import datetime
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import PoolProxiedConnection

from placement.storage.driver.drivers import Call, StatementDriver, note_failed
from placement.storage.driver.message_answers import MessageResult, is_told

#: flag of a session: the server takes several statements in one message
MULTI_STATEMENTS = 1 << 16
#: flag of an answer: a transaction is open
_IN_TRANSACTION = 1
#: the number of an error: a message could not be sent, so the server has not read all of it
_NOT_SENT = 2006
#: statements with more values than these go one by one: together they must not be longer than a
#: statement may be. A value has up to 255 characters of 4 bytes, and a server takes `LONGEST` bytes
_MOST_VALUES = 500
LONGEST = 1 << 20


class PyMySQLDriver(StatementDriver):
    """MariaDB's and MySQL's: several statements go in one message."""

    def run(self, pooled: PoolProxiedConnection, calls: Sequence[Call]) -> list[Any]:
        if not self.batches(pooled):
            return super().run(pooled, calls)
        return run(pooled.driver_connection, calls)

    def may_end_with_writes(self, pooled: PoolProxiedConnection) -> bool:
        return self.batches(pooled) and not is_heard(pooled.driver_connection)


def run(connection: Any, calls: Sequence[Call]) -> list[MessageResult]:
    """Send the statements, in one message if they aren't too large; return what each found.

    After the first that fails, the server runs none of the others. Raises PyMySQL's exception for
    it (see `note_failed`).
    """
    found: list[MessageResult] = []
    try:
        for message in _messages(calls):
            if message[0][2]:
                cursor = connection.cursor()
                cursor.executemany(message[0][0], message[0][1])
                found.append(MessageResult([], cursor.rowcount))
                continue
            texts = [_written(connection, text, values) for text, values, _ in message]
            sent = ";".join(texts).encode(connection.encoding)
            for result in connection.answers(sent):
                found.append(result)
    except Exception as error:
        number = error.args[0] if error.args else None
        is_earlier = is_told(error) and len(found) < len(calls) - 1
        note_failed(error, calls[len(found)][0], number == _NOT_SENT or is_earlier)
        raise
    return found


def _messages(calls: Sequence[Call]) -> Iterator[Sequence[Call]]:
    """Yield the calls of each message."""
    count = 0
    for _, values, many in calls:
        count += _MOST_VALUES + 1 if many else len(values)
        for value in values:
            if type(value) is tuple:
                count += len(value)
    if count <= _MOST_VALUES:
        yield calls
    else:
        for call in calls:
            yield (call,)


def _written(connection: Any, text: str, values: Sequence[Any]) -> str:
    """Return a text with its values."""
    return text % tuple([_literal(connection, value) for value in values]) if values else text


def _literal(connection: Any, value: Any) -> str:
    """Return a value as the server reads it; PyMySQL takes longer for the same."""
    kind = type(value)
    if kind is int:
        return str(value)
    if kind is datetime.datetime:
        return f"'{value.isoformat(' ')}'"
    if kind is tuple:
        return "(" + ",".join([_literal(connection, one) for one in value]) + ")"
    written: str = connection.escape(value)
    return written


def takes_several(connection: Any) -> bool:
    """Return whether `run` reads the answers to several statements in one message.

    Not with a proxy that knows no such messages, nor with a PyMySQL that has other inner parts.
    """
    asked = [("SELECT 1, NULL, %s", ("é",), False), ("SELECT 2.5", (), False)]
    try:
        one, other = run(connection, asked)
        return one.fetchall() == [(1, None, "é")] and [*map(float, other.fetchall()[0])] == [2.5]
    except Exception:
        # a connection that is closed now, or a statement too much, is found out by what comes next
        return False


def is_heard(connection: Any) -> bool:
    """Return whether a server that nobody asked has said something: that it ends the session."""
    return bool(connection.is_heard())


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
