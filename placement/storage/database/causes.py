"""Why a transaction failed: what a further try may be told, or which error it is at last."""

import logging

from sqlalchemy.exc import DBAPIError

from placement.errors import LostRace, OutcomeUnknown, TooMuchAtOnce, ValueNotStorable
from placement.storage.database.lock_waits import StillLocked
from placement.storage.driver.failures import (
    DISCONNECT,
    LOCK_TIMEOUT,
    failure_of,
    is_longer,
    is_not_storable,
    is_too_large,
    words_of,
)

LOG = logging.getLogger(__name__)
#: the cause of a further try after an operation raised LostRace because its locks were outdated
RACE = "race"


def is_unreadable(error: Exception) -> bool:
    """Return whether the server can't read a value: the usual way finds out if it needs to."""
    return isinstance(error, DBAPIError) and is_not_storable(error)


def cause_of(error: DBAPIError | LostRace, committing: bool, longest: float) -> str:
    """Name the cause of a temporary failure. Raises the error if it is not temporary.

    :param longest: the longest statement that the server takes, in bytes
    """
    if isinstance(error, LostRace):
        return LOCK_TIMEOUT if isinstance(error, StillLocked) else RACE
    if is_not_storable(error):
        raise ValueNotStorable() from error
    if is_too_large(error):
        raise TooMuchAtOnce() from error
    cause = failure_of(error)
    if committing and cause == DISCONNECT:
        LOG.error("A connection was lost while a change was stored: %s", words_of(error.orig))
        raise OutcomeUnknown() from error
    if cause == DISCONNECT and is_longer(error, longest):
        raise TooMuchAtOnce() from error
    if cause is None:
        raise error
    return cause
