"""How the answers to a message of statements are read from MariaDB or MySQL.

PyMySQL would make an object for each packet, and several for each column, which costs more than all
else that a client does in a write. So a connection of PyMySQL is opened as one of a class that
reads packets itself (`connection_class`). It uses inner parts of PyMySQL; so each session tries
first whether that works (`mysql_driver.takes_several`).
"""

import functools
import select
from collections.abc import Callable, Iterator, Sequence
from typing import Any

#: flag of an answer: the answer to another statement follows
_MORE = 8
#: the command that sends statements
_QUERY = 3
#: the number of an error: the connection was lost
_LOST = 2013
#: the numbers of PyMySQL's own errors; others are the server's
_OF_CLIENT = range(2000, 3000)
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

#: converts a value that isn't NULL
Reader = Callable[[bytes], Any]


class MessageResult:
    """What a statement found, with those attributes of a driver's cursor that readers use.

    :param description: name and type of each column; None for a statement without rows
    """

    __slots__ = ("_rows", "description", "rowcount")

    def __init__(self, rows: list[tuple[Any, ...]], rowcount: int, description: Any = None) -> None:
        self._rows, self.rowcount, self.description = rows, rowcount, description

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return self._rows


def is_told(error: Exception) -> bool:
    """Return whether the server says that a statement failed, so that nothing more comes."""
    number = error.args[0] if error.args else None
    return isinstance(number, int) and number not in _OF_CLIENT


@functools.cache
def connection_class() -> type[Any]:
    """Return PyMySQL's class of connections, with `answers`, `is_heard` and a safe `literal`."""
    # MySQL's driver is an optional dependency
    from pymysql import connections, err

    class MessageConnection(connections.Connection):
        def literal(self, obj: Any) -> str:
            """Return a cursor's value as the server reads it, in a tuple, too.

            PyMySQL before 1.2 writes backslashes into a tuple's texts even if the server's mode is
            NO_BACKSLASH_ESCAPES: then what follows a quotation mark would be run.
            """
            if type(obj) is tuple:
                return "(" + ",".join([self.literal(one) for one in obj]) + ")"
            written: str = super().literal(obj)
            return written

        def answers(self, sent: bytes) -> Iterator[MessageResult]:
            """Send a message; yield the answer to each of its statements.

            Closes the connection if the answers end otherwise than by an error of the server: what
            is still to come would be taken for the answer to a later statement.
            """
            self._execute_command(_QUERY, sent)
            more = _MORE
            try:
                while more:
                    # PyMySQL looks for errors, and sets the limit for silence
                    head = self._read_packet().get_all_data()
                    if head[0] == _OK:
                        changed, place = _number(head, 1)
                        _, place = _number(head, place)
                        self.server_status = status = head[place] | head[place + 1] << 8
                        result = MessageResult([], changed)
                    else:
                        result, status = self._found(_number(head, 0)[0])
                    more = status & _MORE
                    yield result
            except BaseException as error:
                if not isinstance(error, Exception) or not is_told(error):
                    self._force_close()
                raise

        def _found(self, width: int) -> tuple[MessageResult, int]:
            """Read the columns and rows of an answer; return them, and the flags of the answer."""
            packets = self._packets()
            columns = [_column(self, next(packets)) for _ in range(width)]
            next(packets)
            readers = [reader for _, reader in columns]
            rows = []
            for packet in packets:
                if packet[0] == _EOF and len(packet) < 9:
                    break
                rows.append(_row(packet, readers))
            description = [(None, type_code) for type_code, _ in columns]
            return MessageResult(rows, len(rows), description), packet[3] | packet[4] << 8

        def _packets(self) -> Iterator[bytes]:
            """Yield packets. Raises PyMySQL's exceptions, as its own reader does."""
            read = self._read_bytes
            place: int = self._next_seq_id  # type: ignore[has-type]
            while True:
                parts = []
                size = _LONGEST_PACKET
                while size == _LONGEST_PACKET:
                    head = read(4)
                    size = head[0] | head[1] << 8 | head[2] << 16
                    if head[3] != place:
                        self._force_close()
                        raise err.OperationalError(
                            _LOST, "Lost connection to MySQL server during query"
                        )
                    place = (place + 1) % 256
                    parts.append(read(size))
                self._next_seq_id = place
                packet = parts[0] if len(parts) == 1 else b"".join(parts)
                if packet[0] == _ERROR:
                    err.raise_mysql_exception(packet)
                yield packet

        def is_heard(self) -> bool:
            """Return whether the server has said something that nobody asked for."""
            heard = select.poll()
            heard.register(self._sock, select.POLLIN)
            return bool(heard.poll(0))

    return MessageConnection


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
