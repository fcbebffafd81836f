"""How statements go to PostgreSQL: several in one message, as libpq's pipeline mode allows.

A message to the server and back costs more than most statements. psycopg's own pipelines send each
statement by itself. So this module speaks to libpq through `psycopg.pq`, and reads results with
psycopg's own loaders.
"""

import datetime
import functools
import itertools
import select
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import errors, pq
from psycopg.adapt import Transformer
from psycopg.waiting import Ready, Wait
from sqlalchemy.pool import PoolProxiedConnection

from placement.storage.driver.drivers import Call, StatementDriver, executed, note_failed

#: a text, and its values by position
Sent = tuple[str, Sequence[Any]]
#: psycopg is told what to wait for, and tells what has come; a number that isn't Ready: nothing
Steps = Generator[Wait, Ready | int, Any]

#: keys in the `info` of a connection: the statements that it has prepared, if it prepares any, and
#: when the server last answered
PREPARED = "prepared"
_ANSWERED = "berth_answered"
#: for how many seconds after its last answer a session is taken for connected: only the next
#: message shows that the server failed over
_IS_THERE = 30
#: characters of the statements that a session prepares: the server keeps about 60 bytes for each
_PREPARED_AT_MOST = 400_000
#: a prepared statement is missing, or there already, or finds other types than before
NOT_PREPARED = (
    errors.InvalidSqlStatementName,
    errors.DuplicatePreparedStatement,
    errors.FeatureNotSupported,
)
_DONE = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"'})


class PsycopgDriver(StatementDriver):
    """PostgreSQL's: several statements go in one message.

    They are prepared if the session keeps prepared statements, that is, without a pooler.
    """

    def is_free(self, pooled: PoolProxiedConnection) -> bool:
        connection: Any = pooled.driver_connection
        # IDLE; another number if the connection is lost
        return bool(connection.pgconn.transaction_status == 0)

    def run(self, pooled: PoolProxiedConnection, calls: Sequence[Call]) -> list[object]:
        connection: Any = pooled.driver_connection
        if not self.batches(pooled):
            return [executed(psycopg.RawCursor(connection), call) for call in calls]
        flat = [
            (text, values) for text, given, many in calls for values in (given if many else [given])
        ]
        try:
            found = iter(run(connection, flat, pooled.info.get(PREPARED)))
        except NOT_PREPARED:
            # A pooler gave the transaction another session, or tables were made anew. The next try
            # prepares nothing.
            pooled.info.pop(PREPARED, None)
            raise
        pooled.info[_ANSWERED] = time.monotonic()
        return [
            [next(found) for _ in range(len(given) if many else 1)][-1] for _, given, many in calls
        ]

    def may_commit_with(self, pooled: PoolProxiedConnection) -> bool:
        now = time.monotonic()
        # a new session has just answered to its start
        if PREPARED not in pooled.info or now - pooled.info.setdefault(_ANSWERED, now) > _IS_THERE:
            return False
        connection: Any = pooled.driver_connection
        heard = select.poll()
        heard.register(connection.pgconn.socket, select.POLLIN)
        return not heard.poll(0)

    def arrays(self, pooled: PoolProxiedConnection, calls: Sequence[Call]) -> list[Any]:
        # an idle worker has no numpy
        from placement.storage.driver import postgresql_arrays

        return [postgresql_arrays.read(pooled.driver_connection, *call[:2]) for call in calls]


class BatchResult:
    """What a statement found, with those attributes of a driver's cursor that readers use."""

    def __init__(self, rows: list[tuple[Any, ...]], result: pq.abc.PGresult) -> None:
        self._rows = rows
        self.rowcount = result.command_tuples or 0
        #: name and type of each column; None for a statement without rows
        self.description = [(None, result.ftype(place)) for place in range(result.nfields)] or None

    def fetchall(self) -> list[tuple[object, ...]]:
        """Return all rows."""
        return self._rows


class Prepared:
    """The statements that one session has prepared: their names by text."""

    def __init__(self) -> None:
        self.names: dict[str, bytes] = {}
        self._numbers = itertools.count()

    def new(self, calls: Iterable[Sent]) -> dict[str, bytes]:
        """Return names for texts that have none, as long as all together are not too long.

        What has no values is sent as it is: what begins a transaction, for example.
        """
        missing = dict.fromkeys(text for text, values in calls if values and text not in self.names)
        if not missing:
            return {}
        new: dict[str, bytes] = {}
        room = _PREPARED_AT_MOST - sum(map(len, self.names))
        for text in missing:
            if len(text) <= room:
                room -= len(text)
                new[text] = b"berth_%d" % next(self._numbers)
        return new


def run(
    connection: "psycopg.Connection[Any]", calls: Sequence[Sent], prepared: Prepared | None = None
) -> list[BatchResult]:
    """Send the statements in one message; return what each found.

    After the first that fails, the server runs none of the others. Raises psycopg's exception for
    it (see `note_failed`), and UnicodeEncodeError for a text that isn't one.

    :param connection: not in pipeline mode, and encoded in UTF-8
    :param prepared: what the session has prepared; None: it prepares nothing
    """
    libpq = connection.pgconn
    writer = _WRITERS.get
    sent = [
        (text, [writer(type(value), _other)(value) for value in values]) for text, values in calls
    ]
    if libpq.status != pq.ConnStatus.OK:
        raise psycopg.OperationalError("the connection is closed")
    new, names = ({}, {}) if prepared is None else (prepared.new(sent), prepared.names)
    try:
        libpq.enter_pipeline_mode()
        preparing = _send(libpq, sent, names, new)
        failure = functools.partial(_failure, sent, preparing, prepared is not None)
        results = connection.wait(_results(libpq, failure))
        libpq.exit_pipeline_mode()
    except BaseException:
        # answers that are still to come would be taken for those of later statements
        connection.close()
        raise
    found = []
    for text, result in zip(preparing, results, strict=True):
        if result.status not in _DONE:
            raise failure(results)
        if text is None:
            found.append(BatchResult(_rows(connection, result), result))
        else:
            # it stays prepared, even if a later statement fails
            names[text] = new[text]
    return found


def _send(
    libpq: Any,
    calls: Sequence[Sent],
    names: Mapping[str, bytes],
    new: Mapping[str, bytes],
) -> list[str | None]:
    """Hand the statements to libpq.

    Return, for each result to come, the text that it prepares; None: it is that of a call.
    """
    unprepared = dict(new)
    preparing: list[str | None] = []
    for text, values in calls:
        if text in unprepared:
            # after the statement that begins the transaction: preparing needs a transaction, too
            libpq.send_prepare(unprepared.pop(text), text.encode())
            preparing.append(text)
        name = names.get(text) or new.get(text)
        if name is None:
            libpq.send_query_params(text.encode(), values)
        else:
            libpq.send_query_prepared(name, values)
        preparing.append(None)
    libpq.pipeline_sync()
    return preparing


def _failure(
    calls: Sequence[Sent],
    preparing: Sequence[str | None],
    is_direct: bool,
    results: Sequence[Any],
) -> psycopg.Error:
    """Return psycopg's exception for the first of the results that is a failure.

    :param preparing: for each result, if none had failed, what `_send` returns
    :param is_direct: whether there is surely no pooler. If one loses the server, it ends the
        session in the server's words, and doesn't know how far the server got
    """
    place, failed = next(
        (place, result) for place, result in enumerate(results) if result.status not in _DONE
    )
    error = errors.error_from_result(failed, encoding="utf-8")
    # a failure without a state is libpq's own: nobody knows what the server has done since
    is_told = error.sqlstate is not None and (
        is_direct or error.diag.severity_nonlocalized == "ERROR"
    )
    # each call has one result that prepares nothing
    text, _ = calls[preparing[:place].count(None)]
    note_failed(error, text, is_told and place < len(preparing) - 1)
    return error


def _results(libpq: Any, failure: Callable[[Sequence[Any]], psycopg.Error]) -> Steps:
    """Collect the results of all statements, up to the end of the message.

    :param failure: returns the exception for the first result that is a failure
    """
    results: list[Any] = []
    while libpq.flush():
        if (yield Wait.RW) & Ready.R:
            libpq.consume_input()
    while True:
        while libpq.is_busy():
            if (yield Wait.R) & Ready.R:
                try:
                    libpq.consume_input()
                except psycopg.OperationalError:
                    # what the server said before is read; its results are taken one by one
                    while _took_one(libpq, results):
                        pass
                    if _has_failed(results):
                        raise failure(results) from None
                    raise
        result = libpq.get_result()
        if result is None:
            if libpq.status != pq.ConnStatus.OK:
                # nothing more will come, not even the end of the message
                if _has_failed(results):
                    raise failure(results)
                raise psycopg.OperationalError("the connection was lost")
            continue
        if result.status == pq.ExecStatus.PIPELINE_SYNC:
            return results
        results.append(result)


def _took_one(libpq: Any, results: list[Any]) -> bool:
    """Take one more result of a connection that is lost, unless one has failed or none is left."""
    # each is followed by None
    result = libpq.get_result() or libpq.get_result()
    if result is None or _has_failed(results):
        return False
    results.append(result)
    return True


def _has_failed(results: Sequence[Any]) -> bool:
    return bool(results) and results[-1].status not in _DONE


def _rows(connection: "psycopg.Connection[Any]", result: Any) -> list[tuple[object, ...]]:
    if not result.ntuples:
        return []
    reader = Transformer(connection)
    reader.set_pgresult(result)
    return reader.load_rows(0, result.ntuples, tuple)


def limit_silence(connection: Any, seconds: float) -> None:
    """Close psycopg's connection when its server has not answered for so many seconds.

    The statement then fails with the driver's OperationalError. psycopg says at least ten times a
    second whether something has arrived.
    """
    wait, why = connection.wait, f"the server has not answered for {seconds:g} seconds"

    def while_heard(steps: Steps) -> Steps:
        heard = time.monotonic()
        try:
            awaited = next(steps)
            while True:
                ready = yield awaited
                if ready:
                    heard = time.monotonic()
                elif time.monotonic() - heard > seconds:
                    connection.close()
                    raise psycopg.OperationalError(why)
                awaited = steps.send(ready)
        except StopIteration as end:
            return end.value

    def wait_while_heard(steps: Steps, *arguments: object, **options: object) -> object:
        return wait(while_heard(steps), *arguments, **options)

    connection.wait = wait_while_heard


def _text(value: str) -> bytes:
    if "\0" in value:
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return value.encode()


def _list(values: Sequence[Any]) -> bytes:
    kinds = set(map(type, values))
    if kinds == {str}:
        inside = '"' + '","'.join([value.translate(_ESCAPED) for value in values]) + '"'
    else:
        inside = ",".join(map(str if kinds == {int} else _element, values))
    return _text("{" + inside + "}")


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPED)}"'
    return repr(value) if isinstance(value, float) else str(int(value))


def _other(value: object) -> bytes | None:
    """Write a value of a type that inherits from a known one."""
    for kind, writer in _WRITERS.items():
        if isinstance(value, kind):
            return writer(value)
    raise TypeError(f"no value of the database: {type(value).__name__}")


#: write values of these types as PostgreSQL reads them; the statement says which it wants
_WRITERS: dict[type, Callable[[Any], bytes | None]] = {
    type(None): lambda value: None,
    bool: lambda value: b"true" if value else b"false",
    int: lambda value: b"%d" % value,
    str: _text,
    float: lambda value: repr(value).encode(),
    datetime.datetime: lambda value: str(value).encode(),
    list: _list,
    tuple: _list,
}
