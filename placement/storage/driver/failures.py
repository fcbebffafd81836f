"""What the errors of drivers mean: another writer, an outage, a value, or too much at once."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError

#: a node of a Galera cluster also reports this when another node committed first
DEADLOCK = "deadlock"
#: causes of failures that other writers don't cause
DISCONNECT = "disconnect"
UNREACHABLE = "unreachable"
NOT_READY = "cluster_not_ready"
#: stopped by a time limit of the database, or by its administrator
CANCELED = "canceled"
#: a row stayed locked
LOCK_TIMEOUT = "lock_timeout"
#: attribute of a driver's error: Berth's own limit stopped a statement (`lock_limits.py`)
LOCK_LIMIT_REACHED = "berth_lock_limit_reached"
#: a node of a cluster could not commit a transaction that it had accepted
COMMIT_FAILED = "commit_failed"
OUTAGES = frozenset({DISCONNECT, UNREACHABLE, NOT_READY, CANCELED, COMMIT_FAILED})
_POSTGRESQL_FAILURES = {
    "40001": "serialization",
    "40P01": DEADLOCK,
    "55P03": LOCK_TIMEOUT,
    "57014": CANCELED,
    "57P01": DISCONNECT,
    "57P02": DISCONNECT,
    "57P03": UNREACHABLE,
    # idle for longer than the server allows
    "25P03": DISCONNECT,
    "57P05": DISCONNECT,
    # a pooler changed the server connection: prepared statements exist twice, or not at all; or
    # tables were made anew, and a prepared statement finds other types
    "0A000": "prepared_statement",
    "26000": "prepared_statement",
    "42P05": "prepared_statement",
}
#: class 08: connection exceptions, including every refusal of PgBouncer itself
_POSTGRESQL_CONNECTION = "08"
_MYSQL_FAILURES = {
    1205: LOCK_TIMEOUT,
    # a table was rebuilt after the transaction began
    1412: "serialization",
    1213: DEADLOCK,
    1020: "serialization",
    1047: NOT_READY,
    1053: DISCONNECT,
    1180: COMMIT_FAILED,
    1317: CANCELED,
    1927: DISCONNECT,
    1969: CANCELED,
    3024: CANCELED,
    3572: LOCK_TIMEOUT,
}
#: the server can't be reached (yet), or it or the user has too many connections
_MYSQL_UNREACHABLE = frozenset({1040, 1047, 1053, 1203, 1226, 2002, 2003, 2005, 2006, 2013})
#: texts with which PostgreSQL refuses a connection for a reason that may pass soon
_POSTGRESQL_STATES = (
    "starting up",
    "shutting down",
    "recovery mode",
    "too many clients",
    # of a role, or of a database
    "too many connections for",
    "slots are",
    # PgBouncer's
    "cannot connect to server",
    "server login",
    "server_login_retry",
    "query_wait_timeout",
    "no more connections allowed",
)
#: there is no common collation of column and value, or the character set lacks a character
_MYSQL_NO_SUCH_CHARACTER = frozenset({1267, 1270, 1271, 1366, 3854, 3988})
#: the last id of a table is taken, by SQL state and by the numbers of MariaDB and MySQL
_OUT_OF_IDS = frozenset({"2200H", 167, 1467})
#: a number doesn't fit into its column, by the numbers of MariaDB and MySQL
_OUT_OF_RANGE = frozenset({1264, 1690})
#: violated unique and foreign keys, by the drivers' names
_BROKEN_KEYS = {
    "SQLITE_CONSTRAINT_UNIQUE": "duplicate",
    "SQLITE_CONSTRAINT_PRIMARYKEY": "duplicate",
    "SQLITE_CONSTRAINT_FOREIGNKEY": "reference",
    "23505": "duplicate",
    "23503": "reference",
    1062: "duplicate",
    1451: "reference",
    1452: "reference",
}
#: SQLite's lock of the whole database
_LOCKED = "locked"
#: all that `failure_of` returns
CAUSES = tuple(
    sorted(
        {
            *_POSTGRESQL_FAILURES.values(),
            *_MYSQL_FAILURES.values(),
            *_BROKEN_KEYS.values(),
            *OUTAGES,
            _LOCKED,
        }
    )
)
#: statements that are too large: texts of SQLite, PostgreSQL and the drivers, and MySQL's numbers
_TOO_LARGE = (
    "too many SQL variables",
    "Expression tree is too large",
    "parser stack overflow",
    "number of parameters must be between",
)
_MYSQL_TOO_LARGE = {1153, 1390, 1436}


def is_unreachable(error: DBAPIError) -> bool:
    """Return whether no connection could be made for a reason that may pass.

    A wrong password or an unknown database is not such a reason.
    """
    if not isinstance(error, OperationalError) or error.statement is not None:
        return False
    origin = error.orig
    arguments = getattr(origin, "args", ())
    if arguments and isinstance(arguments[0], int):
        return arguments[0] in _MYSQL_UNREACHABLE
    text = str(origin)
    if "FATAL" in text:
        return any(state in text for state in _POSTGRESQL_STATES)
    return type(origin).__module__.partition(".")[0] in ("psycopg", "psycopg2")


def failure_of(error: DBAPIError) -> str | None:
    """Return the cause if another writer or the network caused the error, else None.

    After such an error another try may succeed.
    """
    if error.connection_invalidated:
        return DISCONNECT
    if is_unreachable(error):
        return UNREACHABLE
    origin = error.orig
    if getattr(origin, LOCK_LIMIT_REACHED, False):
        return LOCK_TIMEOUT
    state, number = state_of(origin), number_of(origin)
    if isinstance(error, IntegrityError):
        # MySQL's number says more than its SQL state, which is the same for all constraints
        name = getattr(origin, "sqlite_errorname", None) or number or state
        return _BROKEN_KEYS.get(name) if name is not None else None
    if number is not None:
        return _MYSQL_FAILURES.get(number)
    if state is not None:
        if state.startswith(_POSTGRESQL_CONNECTION):
            return DISCONNECT
        return _POSTGRESQL_FAILURES.get(state)
    if getattr(origin, "sqlite_errorname", None) == "SQLITE_INTERRUPT":
        return CANCELED
    if "database is locked" in str(origin) or "database table is locked" in str(origin):
        return _LOCKED
    return None


def is_not_storable(error: DBAPIError) -> bool:
    """Return whether the error is about a value that the database can't store or compare with."""
    if is_out_of_ids(error) or is_out_of_generations(error):
        return False
    # MySQL doesn't compare a text with a column whose character set lacks one of its characters
    return isinstance(error, DataError) or number_of(error.orig) in _MYSQL_NO_SUCH_CHARACTER


def is_out_of_ids(error: DBAPIError) -> bool:
    """Return whether a new row got no id, because the table's last one is taken.

    Rows of the change feed have a position, too, which follows that of the row before.
    """
    is_last = bool({state_of(error.orig), number_of(error.orig)} & _OUT_OF_IDS)
    return is_last or _is_too_large_sum(error, "int8pl", "position")


def is_out_of_generations(error: DBAPIError) -> bool:
    """Return whether a generation could not be raised, because it has the column's last value."""
    return _is_too_large_sum(error, "int4pl", "generation")


def _is_too_large_sum(error: DBAPIError, function: str, column: str) -> bool:
    """Return whether a number in a column could not be raised.

    :param function: PostgreSQL's for such sums: a number that was given is refused by another one
    """
    if getattr(getattr(error.orig, "diag", None), "source_function", None) == function:
        return True
    return number_of(error.orig) in _OUT_OF_RANGE and column in str(error.orig)


def words_of(origin: BaseException | None) -> str:
    """Return the driver's message in one line, without the statement that PostgreSQL quotes."""
    primary = getattr(getattr(origin, "diag", None), "message_primary", None)
    return " ".join(str(primary or origin).split())


def is_too_large(error: DBAPIError) -> bool:
    """Return whether the statement, not a value in it, is too large for the database."""
    origin = error.orig
    if number_of(origin) in _MYSQL_TOO_LARGE:
        return True
    state = state_of(origin)
    # class 54: program limit exceeded
    return str(state).startswith("54") or any(text in str(origin) for text in _TOO_LARGE)


def is_longer(error: DBAPIError, longest: float) -> bool:
    """Return whether the values of the failed statement alone take more than so many bytes.

    If the statement was to store many rows, each row is measured by itself: a driver sends only as
    many rows at a time as the server takes.
    """
    rows: Any = error.params if error.ismulti else [error.params or ()]
    return any(
        sum(
            len(str(value).encode(errors="replace"))
            for value in (row.values() if isinstance(row, Mapping) else row)
        )
        > longest
        for row in rows
    )


def state_of(origin: BaseException | None) -> str | None:
    """Return PostgreSQL's SQL state of an error, if it has one."""
    return getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)


def number_of(origin: BaseException | None) -> int | None:
    """Return MySQL's number of an error, if it has one."""
    arguments = getattr(origin, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None
