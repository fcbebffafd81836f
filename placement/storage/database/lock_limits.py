"""The limit for what locks several rows in one message.

The server's own limit for locks counts anew for each row. If others give the rows back one after
the other, a message could wait for longer than a server may be silent (`dialects.py`), and the
server would be taken for lost. So the message has a limit for all its waits together. What it stops
counts as a lock that wasn't given in time.

MySQL, unlike MariaDB, has no such limit for statements that lock. Nor has what SQLAlchemy sends
because `connection_debug` or `connection_trace` is set. There the server's limit for each row is
short (`lock_waits.py`), so that only many rows together pass the silence.
"""

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry

from placement.storage.database.compiled import Awaited, Compiled
from placement.storage.driver.dialects import MYSQL
from placement.storage.driver.drivers import Call, StatementDriver
from placement.storage.driver.failures import LOCK_LIMIT_REACHED, number_of, state_of

#: key in the `info` of a connection: the limit in seconds
LIMIT = "longest wait for several locks"
#: seconds, as long as PostgreSQL may wait for a single row (`postgresql_sessions.py`)
_LONGEST_WAITS = 12
#: seconds if the transaction waits shortly (`lock_waits.py`), and how many more for each row: it
#: takes time to lock, too
_SHORT_WAITS, _EACH_ROW = 2, 0.001
#: a shorter limit for silence makes this one shorter in proportion
_OF_SILENCE = 6 / 7
#: How many rows a message locks without a limit, if it waits shortly for each. On PostgreSQL the
#: limit costs two small statements, which a usual claim goes without
_NEEDS_NONE = 2
_SETS_LIMIT = "set_config('statement_timeout'"
#: PostgreSQL's limit for a statement becomes so many seconds, and what it was before. As they have
#: a value, the statements are prepared like others. A setting of the transaction keeps what it was
_BEGIN = Compiled(
    sa.text(
        "SELECT set_config('berth.statement_timeout', current_setting('statement_timeout'), true), "
        "set_config('statement_timeout', CAST(CAST(1000 * least("
        "nullif(extract(epoch FROM CAST(current_setting('statement_timeout') AS interval)), 0), "
        "CAST(:seconds AS numeric)) AS integer) AS text), true)"
    )
)
_END = Compiled(
    sa.text("SELECT set_config('statement_timeout', current_setting(CAST(:own AS text)), true)")
)
#: a statement was stopped: PostgreSQL's state, MariaDB's number for its own limit
_STOPPED = ("57014", 1969)


def limit_several(engine: sa.Engine, silence: float | None) -> None:
    """Note the limit in the `info` of each new connection.

    :param silence: after how many seconds a server is taken for lost; None: never
    """
    limit = min(_LONGEST_WAITS, (silence or _LONGEST_WAITS / _OF_SILENCE) * _OF_SILENCE)

    @event.listens_for(engine, "connect")
    def connect(connection: object, record: ConnectionPoolEntry) -> None:
        record.info[LIMIT] = limit


def limited(
    dialect: sa.Dialect,
    driver: StatementDriver,
    calls: list[Call],
    rows: dict[str, Awaited],
    limit: float,
    patient: bool,
) -> tuple[list[Call], dict[str, Awaited]]:
    """Return the calls of a message with what limits its waits, if they lock several rows.

    Return also what each call then locks.

    An operator's own shorter limit for statements stays.

    :param dialect: the engine's, which has asked the server whether it is MariaDB
    :param rows: what each call that waits locks, by its text
    :param limit: seconds
    :param patient: whether the transaction waits for longer than shortly
    """
    count = sum(awaited.count for awaited in rows.values())
    if count <= (1 if patient else _NEEDS_NONE):
        return calls, rows
    if not patient:
        limit = min(limit, _SHORT_WAITS + _EACH_ROW * count)
    places = [place for place, (text, _, _) in enumerate(calls) if text in rows]
    first, last = places[0], places[-1] + 1
    each = limit / len(places)
    if dialect.name == "postgresql":
        begin = _call(driver, _BEGIN, seconds=each)
        end = _call(driver, _END, own="berth.statement_timeout")
        return [*calls[:first], begin, *calls[first:last], end, *calls[last:]], rows
    if dialect.name in MYSQL and getattr(dialect, "is_mariadb", False):
        prefix = _mariadb_limit(each)
        prefixed = [
            (prefix + text, values, many) if text in rows else (text, values, many)
            for text, values, many in calls
        ]
        return prefixed, {prefix + text: awaited for text, awaited in rows.items()}
    return calls, rows


def note_if_stopped(error: BaseException, text: str | None, rows: Mapping[str, Awaited]) -> None:
    """Note in the driver's error that a limit for several locks stopped the statement, if one did.

    :param text: the statement that failed; None: it isn't known, and the message had no other
    :param rows: as for `limited`
    """
    is_of_lock = bool(rows) and (text is None or text in rows)
    if is_of_lock and (state_of(error) in _STOPPED or number_of(error) in _STOPPED):
        setattr(error, LOCK_LIMIT_REACHED, True)


def is_limit(call: Call) -> bool:
    """Return whether `limited` has added the call."""
    return _SETS_LIMIT in call[0]


def _call(driver: StatementDriver, statement: Compiled, **values: object) -> Call:
    form = statement.form(driver, values)
    return form.text, form.placed(values), False


def _mariadb_limit(seconds: float) -> str:
    own = "@@SESSION.max_statement_time"
    limit = f"IF({own} > 0, LEAST({own}, {seconds:.3f}), {seconds:.3f})"
    return f"SET STATEMENT max_statement_time = {limit} FOR "
