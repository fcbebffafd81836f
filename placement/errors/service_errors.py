"""Errors of a service that can't answer now: the same request may succeed later.

::

    PlacementError
    ├── ServerBusy                  503
    ├── TooManyWaits                503, requests that wait for changes
    ├── TooManyPlans                503, requests that plan moves
    ├── DatabaseUnavailable         503
    │   ├── DatabaseReadOnly
    │   └── OutcomeUnknown          the connection was lost during the commit
    ├── SearchUnfinished            503, a search for candidates reached a limit
    ├── SearchAbandoned             503, the client closed its connection
    ├── ClaimUnfinished             503, other writers were at each candidate of a claim
    ├── StorageFull                 507
    │   ├── IdsUsedUp               no number for a new row
    │   └── GenerationsUsedUp       no number for a new generation
    ├── NoRoomForAnswer             507, the disk for temporary files is full
    └── NoRoomForBody               507, likewise
"""

from placement.errors.placement_error import PlacementError


class ServerBusy(PlacementError):
    """Too many requests wait for a thread. This request changed nothing."""

    status, title = 503, "Service Unavailable"
    text = "Too many requests wait to be answered. Nothing was changed."


class TooManyWaits(PlacementError):
    """So many requests wait for changes that one more could keep others from a thread."""

    status, title = 503, "Service Unavailable"
    code = "berth.too_many_waits"
    text = (
        "Too many requests wait for changes ([berth]changes_waits). "
        "Ask again later, or without `wait`."
    )
    retry_after = 5


class TooManyPlans(PlacementError):
    """A worker makes one plan at a time, and this request's turn didn't come in time."""

    status, title = 503, "Service Unavailable"
    code = "berth.too_many_plans"
    text = (
        "A worker makes one plan of moves at a time (/berth/v1/plans, "
        "/berth/v1/capacity/evacuate), and others came first. Ask again later."
    )
    retry_after = 20


class DatabaseUnavailable(PlacementError):
    """The database can't be reached, or not in time. The request changed nothing."""

    status, title = 503, "Service Unavailable"
    text = "The database is not available. Nothing was changed."


class DatabaseReadOnly(DatabaseUnavailable):
    """The database takes no changes, and can be read all the same."""

    text = "The database is read-only at present. Nothing was changed."


class OutcomeUnknown(DatabaseUnavailable):
    """The commit's result is unknown: the client must read the data to find out."""

    text = (
        "The connection to the database was lost while the change was stored. "
        "It may or may not have happened."
    )


class SearchUnfinished(PlacementError):
    """A search for candidates reached a limit, and it is unknown whether candidates exist."""

    status, title = 503, "Service Unavailable"
    code = "berth.search_unfinished"
    text = (
        "The search for allocation candidates was ended {ended}, before it was finished. {what} "
        "Ask for fewer groups, for groups that fewer providers can serve, or with a limit."
    )


class SearchAbandoned(PlacementError):
    """The client closed its connection before its search was finished."""

    status, title = 503, "Service Unavailable"
    code = "berth.search_abandoned"
    text = "The client left before its search was finished."


class ClaimUnfinished(PlacementError):
    """Other writers took, or had locked, each candidate that a claim had found."""

    status, title = 503, "Service Unavailable"
    code = "berth.claim_unfinished"
    text = (
        "Other writers took the candidates that were found, or had locked them, until the time of "
        "the claim was over. Nothing was changed. Please try again later."
    )


class StorageFull(PlacementError):
    """The database has no space for the data of the request."""

    status, title = 507, "Insufficient Storage"
    text = "The database has no space left. Nothing was changed."


class IdsUsedUp(StorageFull):
    """The ids of a table have 32 bits, as OpenStack Placement made it; the last one is taken."""

    text = "A table of the database has no number left for a new row. Nothing was changed."


class GenerationsUsedUp(StorageFull):
    """Generations have 32 bits, as OpenStack Placement made them."""

    text = (
        "The generation of a provider or consumer is 2147483647, the last number that the database "
        "has for it. Nothing was changed."
    )


class NoRoomForAnswer(PlacementError):
    """A long answer is written to a temporary file first, and that failed."""

    status, title = 507, "Insufficient Storage"
    text = "The service can't store the answer in a temporary file: {why}. Ask for less at once."


class NoRoomForBody(PlacementError):
    """A long body is written to a temporary file while it is received, and that failed."""

    status, title = 507, "Insufficient Storage"
    text = (
        "The service can't store the body of the request in a temporary file: {why}. "
        "Nothing was changed."
    )
