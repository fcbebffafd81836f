"""The errors that Berth returns, each with its HTTP status and error code (rest-api.md 1.6, 1.7).

::

    PlacementError
    ├── BadRequest                  400
    │   ├── ValueNotStorable        a value that the database can't store
    │   ├── TooMuchAtOnce           more values than fit into one statement
    │   ├── UnreadableContent       headers that don't describe the content
    │   ├── UnreadableRequest       not valid HTTP
    │   ├── MalformedJSON
    │   ├── SchemaMismatch
    │   ├── BadQuery
    │   ├── BadQueryValue
    │   ├── DuplicateKey            a parameter that may be given only once
    │   ├── MissingValue            a parameter that must be given
    │   ├── ObjectRefused           a provider with an invalid parent
    │   │   └── CreationRefused         a new one, with an invalid name or parent
    │   ├── InvalidCapacity         an inventory without capacity
    │   ├── StandardNameFixed       a change of a standard class or trait
    │   ├── UnknownTraits
    │   ├── InventoryMissing        an update of an inventory that doesn't exist
    │   ├── NamedTwice              a provider both to write and to remove
    │   ├── ProviderOutsideTree
    │   ├── InvalidCustomName
    │   └── UnknownProviderNamed    a body names a provider that doesn't exist
    │       └── NamedProviderUnknown
    ├── Forbidden                   403
    ├── NotFound                    404
    │   ├── ProviderNotFound
    │   ├── ResourceClassNotFound
    │   ├── TraitNotFound
    │   └── InventoryNotFound
    ├── MethodNotAllowed            405
    ├── NotAcceptable               406
    ├── Conflict                    409
    │   ├── ConcurrentUpdate
    │   │   ├── GenerationConflict      the caller's generation is not the stored one
    │   │   ├── LostRace                other writers changed the data on every attempt
    │   │   └── InventoryExists
    │   ├── NoCandidate             a claim for which nothing fits
    │   ├── DuplicateName
    │   ├── InventoryInUse
    │   ├── ProviderInUse
    │   ├── ProviderHasChildren
    │   ├── ResourceClassExists
    │   ├── ResourceClassInUse
    │   ├── TraitInUse
    │   └── AllocationRefused
    │       ├── InvalidInventory        the provider has no such inventory
    │       ├── ConstraintViolated      min_unit, max_unit, step_size
    │       └── CapacityExceeded
    ├── PositionGone                410, changes after the position can't all be named
    ├── BodyTooLong                 413
    ├── UnsupportedMediaType        415
    ├── HeadersTooLong              431
    ├── TransferNotImplemented      501
    ├── ServerBusy                  503
    ├── TooManyWaits                503, requests that wait for changes
    ├── DatabaseUnavailable         503
    │   ├── DatabaseReadOnly
    │   └── OutcomeUnknown          the connection was lost during the commit
    ├── SearchUnfinished            503, a search for candidates reached a limit
    ├── SearchAbandoned             503, the client closed its connection
    ├── ClaimUnfinished             503, other writers were at each candidate of a claim
    ├── StorageFull                 507
    │   └── IdsUsedUp               no number for a new row
    ├── NoRoomForAnswer             507, the disk for temporary files is full
    └── NoRoomForBody               507, likewise

Operations and rules raise these errors; :mod:`placement.http.error_body` renders them. A handler
uses :func:`worded` to replace an error's own text.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

UNDEFINED = "placement.undefined_code"


class PlacementError(Exception):
    """An error with an HTTP status.

    :param message: the text for the client; None: `text`, formatted with `facts`
    :param facts: values for the fields of `text`, and for the words of a handler
    """

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal Server Error"
    code: ClassVar[str] = UNDEFINED
    text: ClassVar[str] = ""
    #: whether the response names the microversion's header in `vary` (rest-api.md 1.9)
    vary: ClassVar[bool] = True
    #: seconds after which the client may ask again, for the header Retry-After
    retry_after: ClassVar[int | None] = None

    def __init__(self, message: str | None = None, **facts: Any) -> None:
        self.facts = facts
        self.message = self.text.format(**facts) if message is None else message
        super().__init__(self.message)


class BadRequest(PlacementError):
    status, title = 400, "Bad Request"


class ValueNotStorable(BadRequest):
    text = "A value is too long, too large or holds a character that the database can't store."


class TooMuchAtOnce(BadRequest):
    text = "The request names more than the database can look for at once."


class MalformedJSON(BadRequest):
    text = "Malformed JSON: {why}"


class UnreadableContent(BadRequest):
    """Content-Length or Content-Type is missing, invalid or contradicts the content."""

    vary = False


class UnreadableRequest(BadRequest):
    """The bytes from the connection aren't an HTTP request; `placement-api` rejects them."""

    text = "The request can't be read: {why}."


class SchemaMismatch(BadRequest):
    text = "JSON does not validate: {why}"


class BadQuery(BadRequest):
    text = "Invalid query string parameters: {why}"


class BadQueryValue(BadRequest):
    """A parameter of the query has a value that makes no sense, alone or beside the others."""

    code = "placement.query.bad_value"


class DuplicateKey(BadRequest):
    """A parameter of the query that may be given once is given twice."""

    code = "placement.query.duplicate_key"


class MissingValue(BadRequest):
    """The query asks for no resources."""

    code = "placement.query.missing_value"


class ObjectRefused(BadRequest):
    text = "Object action {action} failed because: {reason}"


class CreationRefused(ObjectRefused):
    text = "Object action create failed because: {reason}"


class InvalidCapacity(BadRequest):
    text = (
        "Invalid inventory for '{resource_class}' on resource provider '{uuid}'. "
        "The reserved value is greater than {bound}."
    )


class StandardNameFixed(BadRequest):
    """A standard resource class or trait can be neither changed nor deleted."""


class UnknownTraits(BadRequest):
    text = "No such trait {names}"


class InventoryMissing(BadRequest):
    text = "No inventory of class {resource_class} found."


class UnknownProviderNamed(BadRequest):
    text = "Allocation for resource provider '{uuid}' that does not exist."


class NamedProviderUnknown(UnknownProviderNamed):
    """The body changes a provider that doesn't exist."""

    code = "placement.resource_provider.not_found"
    text = (
        "Resource provider {uuid} in {place} not found: No resource provider with uuid {uuid} found"
    )


class NamedTwice(BadRequest):
    text = "Resource provider {uuid} is both in providers and in remove."


class ProviderOutsideTree(BadRequest):
    """A change of a tree names a provider that doesn't belong to the tree afterwards."""

    text = (
        "Resource provider {uuid} would be in the tree with the root {other}, not in the tree "
        "with the root {root}."
    )


class InvalidCustomName(BadRequest):
    text = (
        "Unable to create {kind} {name}: the name of a custom {kind} has at most 255 characters, "
        "and only A-Z, 0-9 and _ after CUSTOM_."
    )


class Forbidden(PlacementError):
    status, title = 403, "Forbidden"
    vary = False


class NotFound(PlacementError):
    status, title = 404, "Not Found"


class NoSuchRoute(NotFound):
    """No endpoint has this URL."""

    vary = False


class ProviderNotFound(NotFound):
    text = "No resource provider with uuid {uuid} found"
    vary = False


class ResourceClassNotFound(NotFound):
    text = "No such resource class {name}."
    vary = False


class TraitNotFound(NotFound):
    text = "No such trait(s): {name}."


class InventoryNotFound(NotFound):
    text = "No inventory of class {resource_class} for {uuid}"


class MethodNotAllowed(PlacementError):
    status, title = 405, "Method Not Allowed"

    text = "The method specified is not allowed for this resource."

    def __init__(self, message: str | None = None, allow: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        #: methods for the header `Allow`; empty: no such header
        self.allow = allow


class NotAcceptable(PlacementError):
    status, title = 406, "Not Acceptable"


class PositionGone(PlacementError):
    """The change feed can't name all changes after the client's position."""

    status, title = 410, "Gone"
    code = "berth.position_gone"


class BodyTooLong(PlacementError):
    status, title = 413, "Request Entity Too Large"
    text = "No body may be longer than {longest} bytes ([berth]max_body_size)."


class UnsupportedMediaType(PlacementError):
    status, title = 415, "Unsupported Media Type"
    text = "The media type {media_type} is not supported, use application/json"


class HeadersTooLong(PlacementError):
    status, title = 431, "Request Header Fields Too Large"
    text = "The request's line and headers are too long: {why}."


class TransferNotImplemented(PlacementError):
    status, title = 501, "Not Implemented"
    text = "{why}"


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


class ClaimUnfinished(PlacementError):
    """Other writers took, or had locked, each candidate that a claim had found."""

    status, title = 503, "Service Unavailable"
    code = "berth.claim_unfinished"
    text = (
        "Other writers took the candidates that were found, or had locked them, until the time of "
        "the claim was over. Nothing was changed. Please try again later."
    )


class SearchAbandoned(PlacementError):
    """The client closed its connection before its search was finished."""

    status, title = 503, "Service Unavailable"
    code = "berth.search_abandoned"
    text = "The client left before its search was finished."


class StorageFull(PlacementError):
    """The database has no space for the data of the request."""

    status, title = 507, "Insufficient Storage"
    text = "The database has no space left. Nothing was changed."


class IdsUsedUp(StorageFull):
    """The ids of a table have 32 bits, as OpenStack Placement made it; the last one is taken."""

    text = "A table of the database has no number left for a new row. Nothing was changed."


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


class Conflict(PlacementError):
    status, title = 409, "Conflict"


class ConcurrentUpdate(Conflict):
    """Something isn't as the request says, because of another writer: read it, and try again."""

    code = "placement.concurrent_update"
    text = "Another thread concurrently updated the data. Please retry your update"


class GenerationConflict(ConcurrentUpdate):
    text = "resource provider generation conflict"


class LostRace(ConcurrentUpdate):
    text = (
        "Another thread concurrently updated the resource provider data. Please retry your update"
    )


class InventoryExists(ConcurrentUpdate):
    text = "Inventory of class {resource_class} for resource provider {uuid} already exists"


class DuplicateName(Conflict):
    """Another resource provider has the name, or the uuid."""

    code = "placement.duplicate_name"


class NoCandidate(Conflict):
    """The cloud has no candidates for all consumers of a claim."""

    code = "berth.no_candidate"


class InventoryInUse(Conflict):
    """Consumers hold resources of an inventory that would be gone."""

    code = "placement.inventory.inuse"
    text = "Inventory for '{resource_classes}' on resource provider '{uuid}' in use."


class ProviderInUse(Conflict):
    """Consumers hold resources of the provider."""

    code = "placement.resource_provider.inuse"
    text = "Unable to delete resource provider {uuid}: Resource provider has allocations."


class ProviderHasChildren(Conflict):
    """The provider has children."""

    code = "placement.resource_provider.cannot_delete_parent"
    text = "Unable to delete parent resource provider {uuid}: It has child resource providers."


class ResourceClassExists(Conflict):
    text = "Resource class already exists: {name}"


class ResourceClassInUse(Conflict):
    text = "Cannot delete resource class {name}. Class is in use in inventory."


class TraitInUse(Conflict):
    text = "The trait {name} is in use by a resource provider."


class AllocationRefused(Conflict):
    """The inventories can't satisfy the requested allocation."""

    @property
    def providers(self) -> frozenset[str]:
        """The uuids of the providers that can't."""
        named = self.facts.get("uuids") or self.facts.get("uuid", "")
        return frozenset(filter(None, named.split(", ")))


class InvalidInventory(AllocationRefused):
    text = "Inventory for '{resource_classes}' on resource provider '{uuids}' invalid."


class ConstraintViolated(AllocationRefused):
    text = (
        "Unable to create allocation for '{resource_class}' on resource provider '{uuid}'. "
        "The requested amount would violate inventory constraints."
    )


class CapacityExceeded(AllocationRefused):
    text = (
        "Unable to create allocation for '{resource_class}' on resource provider '{uuid}'. "
        "The requested amount would exceed the capacity."
    )


def codes_of(kind: type[PlacementError]) -> tuple[str, ...]:
    """Return the codes of a class of errors and its subclasses, sorted."""
    return tuple(sorted({each.code for each in kinds_of(kind)}))


def kinds_of(kind: type[PlacementError]) -> Iterator[type[PlacementError]]:
    """Yield a class of errors and its subclasses, each before its own subclasses."""
    yield kind
    for each in kind.__subclasses__():
        yield from kinds_of(each)


Wording = tuple[type[PlacementError], type[PlacementError], str]


def worded(*wordings: Wording) -> Callable:
    """Return a decorator that replaces errors which a handler raises.

    :param wordings: `(raised, answered, text)`: an error of class `raised` becomes an error of
        class `answered` with `text`; the first match applies. `text` may contain `{error}` (the
        raised error's own text), the facts of the error and the parameters of the route
    """

    def decorate(handler: Callable) -> Callable:
        @functools.wraps(handler)
        def answer(call: Any, **place: str) -> Any:
            try:
                return handler(call, **place)
            except PlacementError as error:
                for raised, answered, text in wordings:
                    if isinstance(error, raised):
                        message = text.format(**(place | error.facts), error=error.message)
                        raise answered(message) from error
                raise

        return answer

    return decorate
