"""The errors that clients get when the database can't serve a valid request."""

import logging

from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from placement.errors import (
    DatabaseReadOnly,
    DatabaseUnavailable,
    GenerationsUsedUp,
    IdsUsedUp,
    PlacementError,
    StorageFull,
)
from placement.storage.driver.failures import (
    failure_of,
    is_out_of_generations,
    is_out_of_ids,
    number_of,
    state_of,
    words_of,
)

LOG = logging.getLogger(__name__)

#: "no space", by SQLite's name, by SQL state, and by MySQL's number
_FULL = frozenset({"SQLITE_FULL", "53100", 1021, 1114})
#: "no space" in the text of another error of MySQL
_NO_SPACE = ("No space left on device", "Got error 28 ")
#: beginnings of names and states of a read-only database: a file, or the primary before a failover
_READ_ONLY = ("SQLITE_READONLY", "25006")
_MYSQL_READ_ONLY = frozenset({1290, 1792, 1836})
#: beginnings of names and states: input/output errors, missing files, no more memory or
#: connections, a server that shuts down
_OUT_OF_SERVICE = ("SQLITE_IOERR", "SQLITE_CANTOPEN", "53", "57P", "58")
_MYSQL_OUT_OF_SERVICE = frozenset({1037, 1040, 1041, 1053, 1152, 1203, 1226, 1927})


def refusal_of(error: DBAPIError | PoolExhausted) -> PlacementError | None:
    """Return the error for a failure that only the operator can repair; None for other failures.

    The log gets the driver's message, without statements and values.
    """
    refusal: PlacementError | None = None
    if isinstance(error, PoolExhausted):
        refusal = DatabaseUnavailable()
    elif _is_full(error):
        refusal = StorageFull()
    elif is_out_of_ids(error):
        refusal = IdsUsedUp()
    elif is_out_of_generations(error):
        refusal = GenerationsUsedUp()
    elif _is_one_of(error, _READ_ONLY, _MYSQL_READ_ONLY):
        refusal = DatabaseReadOnly()
    elif _is_out_of_service(error):
        refusal = DatabaseUnavailable()
    if refusal is not None:
        reason = error.orig if isinstance(error, DBAPIError) else error
        LOG.error("Answers %d: %s", refusal.status, words_of(reason))
    return refusal


def _is_full(error: DBAPIError) -> bool:
    text = str(error.orig)
    return bool(_names(error) & _FULL) or any(words in text for words in _NO_SPACE)


def _is_out_of_service(error: DBAPIError) -> bool:
    if failure_of(error) is not None:
        return True
    if isinstance(error, OperationalError) and error.statement is None:
        # no connection could be made
        return True
    return _is_one_of(error, _OUT_OF_SERVICE, _MYSQL_OUT_OF_SERVICE)


def _is_one_of(error: DBAPIError, beginnings: tuple[str, ...], numbers: frozenset[int]) -> bool:
    names = _names(error)
    if names & numbers:
        return True
    return any(isinstance(name, str) and name.startswith(beginnings) for name in names)


def _names(error: DBAPIError) -> set[object]:
    """Return the codes and names that drivers give the failure."""
    origin = error.orig
    return {getattr(origin, "sqlite_errorname", None), state_of(origin), number_of(origin)}
