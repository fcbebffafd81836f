"""Several statements to MariaDB or MySQL in one message, by PyMySQL.

A message to the server and back costs more than most statements. The server runs the statements of
a message one after the other, and none after the first that fails. PyMySQL sends the message. It
would make an object for each packet of the answers, and several for each column, which costs more
than all else that a client does in a write. So this module reads the packets itself. That uses
parts of PyMySQL that aren't public; so each session first tries whether it works
(`takes_several`).
"""

import datetime
import select
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

#: flag of a session: the server takes several statements in one message
MULTI_STATEMENTS = 1 << 16
#: flags of an answer: a transaction is open; the answer to another statement follows
_IN_TRANSACTION, _MORE = 1, 8
#: the command that sends statements
_QUERY = 3
#: the number of an error: a message could not be sent, so the server has not read all of it
_NOT_SENT = 2006
_LOST = 2013
#: the numbers of PyMySQL's own errors; others are the server's
_OF_CLIENT = range(2000, 3000)
#: statements with more values than these go one by one: together they must not be longer than a
#: statement may be. A value has up to 255 characters of 4 bytes, and a server takes `LONGEST` bytes
_MOST_VALUES = 500
LONGEST = 1 << 20
#: attributes of exceptions
_STOPPED = "berth_stopped_before_the_last"
_TEXT = "berth_text"
#: first bytes of packets
_OK, _EOF, _ERROR = 0, 0xFE, 0xFF
#: first bytes of a value: NULL, or how many bytes have its length
_NULL = 0xFB
_SIZES = {0xFC: 2, 0xFD: 3, 0xFE: 8}
_LONGEST_PACKET = 0xFFFFFF
#: types of columns that have whole numbers: TINY, SHORT, LONG, LONGLONG, INT24, YEAR
_WHOLE = frozenset({1, 2, 3, 8, 9, 13})
#: types with text or bytes, and the character set of those with bytes
_TEXTS, _JSON, _BYTES = frozenset({15, 16, 249, 250, 251, 252, 253, 254, 255}), 245, 63

#: a text; its values by position, or a list of such values; whether it is a list
Call = tuple[str, Any, bool]
#: converts a value that isn't NULL
Reader = Callable[[bytes], Any]


class BatchResult:
    """What a statement found, with those attributes of a driver's cursor that readers use.

    :param description: name and type of each column; None for a statement without rows
    """

    __slots__ = ("_rows", "description", "rowcount")

    def __init__(self, rows: list[tuple[Any, ...]], rowcount: int, description: Any = None) -> None:
        self._rows, self.rowcount, self.description = rows, rowcount, description

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return self._rows


def run(connection: Any, calls: Sequence[Call]) -> list[BatchResult]:
    """Send the statements, in one message if they aren't too large; return what each found.

    After the first that fails, the server runs none of the others. Raises PyMySQL's exception for
    it (see `stopped_before_the_last` and `text_of`).
    """
    found: list[BatchResult] = []
    try:
        for message in _messages(calls):
            if message[0][2]:
                cursor = connection.cursor()
                cursor.executemany(message[0][0], message[0][1])
                found.append(BatchResult([], cursor.rowcount))
                continue
            texts = [_written(connection, text, values) for text, values, _ in message]
            sent = ";".join(texts).encode(connection.encoding)
            for result in _answers(connection, sent):
                found.append(result)
    except Exception as error:
        number = error.args[0] if error.args else None
        setattr(error, _TEXT, calls[len(found)][0])
        is_told = isinstance(number, int) and number not in _OF_CLIENT
        setattr(error, _STOPPED, number == _NOT_SENT or (is_told and len(found) < len(calls) - 1))
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


def _answers(connection: Any, sent: bytes) -> Iterator[BatchResult]:
    """Send a message; yield the answer to each of its statements.

    Closes the connection if the answers end otherwise than by an error of the server: what is still
    to come would be taken for the answer to a later statement.
    """
    connection._execute_command(_QUERY, sent)
    more = _MORE
    try:
        while more:
            # PyMySQL looks for errors, and sets the limit for silence
            head = connection._read_packet().get_all_data()
            if head[0] == _OK:
                changed, place = _number(head, 1)
                _, place = _number(head, place)
                connection.server_status = status = head[place] | head[place + 1] << 8
                result = BatchResult([], changed)
            else:
                result, status = _rows(connection, _number(head, 0)[0])
            more = status & _MORE
            yield result
    except BaseException as error:
        if not isinstance(error, Exception) or not _is_told(error):
            connection._force_close()
        raise


def _is_told(error: Exception) -> bool:
    """Return whether the server says that a statement failed, so that nothing more comes."""
    number = error.args[0] if error.args else None
    return isinstance(number, int) and number not in _OF_CLIENT


def _rows(connection: Any, width: int) -> tuple[BatchResult, int]:
    """Read the columns and rows of an answer; return them, and the flags of the answer."""
    packets = _packets(connection)
    columns = [_column(connection, next(packets)) for _ in range(width)]
    next(packets)
    readers = [reader for _, reader in columns]
    rows = []
    for packet in packets:
        if packet[0] == _EOF and len(packet) < 9:
            break
        rows.append(_row(packet, readers))
    description = [(None, type_code) for type_code, _ in columns]
    return BatchResult(rows, len(rows), description), packet[3] | packet[4] << 8


def _packets(connection: Any) -> Iterator[bytes]:
    """Yield packets. Raises PyMySQL's exceptions, as its own reader does."""
    from pymysql import err

    read, place = connection._read_bytes, connection._next_seq_id
    while True:
        parts = []
        size = _LONGEST_PACKET
        while size == _LONGEST_PACKET:
            head = read(4)
            size = head[0] | head[1] << 8 | head[2] << 16
            if head[3] != place:
                connection._force_close()
                raise err.OperationalError(_LOST, "Lost connection to MySQL server during query")
            place = (place + 1) % 256
            parts.append(read(size))
        connection._next_seq_id = place
        packet = parts[0] if len(parts) == 1 else b"".join(parts)
        if packet[0] == _ERROR:
            err.raise_mysql_exception(packet)
        yield packet


def _number(packet: bytes, place: int) -> tuple[int, int]:
    """Return the number with a length at this place, and the place after it."""
    first = packet[place]
    size = _SIZES.get(first, 0)
    end = place + 1 + size
    return int.from_bytes(packet[place + 1 : end], "little") if size else first, end


def _column(connection: Any, packet: bytes) -> tuple[int, Reader | None]:
    """Return the type of a column, and what converts its values; None: they stay bytes."""
    charset = packet[-12] | packet[-11] << 8
    type_code = packet[-6]
    if type_code in _WHOLE:
        return type_code, int
    if type_code in _TEXTS and charset == _BYTES:
        encoding = None
    else:
        is_text = type_code in _TEXTS or type_code == _JSON
        encoding = connection.encoding if is_text else "ascii"
    reader = connection.decoders.get(type_code)
    # PyMySQL's `through` converts nothing
    if reader is None or reader.__name__ == "through":
        return type_code, None if encoding is None else _DECODERS[encoding]
    if encoding is None:
        return type_code, reader
    return type_code, lambda value: reader(value.decode(encoding))


class _Decoders(dict[str, Reader]):
    def __missing__(self, encoding: str) -> Reader:
        self[encoding] = decoder = lambda value: value.decode(encoding)
        return decoder


_DECODERS = _Decoders(utf8=bytes.decode)


def _row(packet: bytes, readers: Sequence[Reader | None]) -> tuple[Any, ...]:
    values: list[Any] = []
    place = 0
    for reader in readers:
        size = packet[place]
        place += 1
        if size == _NULL:
            values.append(None)
            continue
        if size > _NULL:
            size, place = _number(packet, place - 1)
        end = place + size
        value = packet[place:end]
        values.append(value if reader is None else reader(value))
        place = end
    return tuple(values)


def stopped_before_the_last(error: BaseException) -> bool:
    """Return whether the last statement of `run` surely wasn't run."""
    return getattr(error, _STOPPED, False)


def text_of(error: BaseException) -> str | None:
    """Return the statement of `run` that failed."""
    return getattr(error, _TEXT, None)


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
