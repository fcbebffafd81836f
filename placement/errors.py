"""Every refusal Berth can give, each knowing its HTTP status and error code (rest-api.md 1.6, 1.7).

::

    PlacementError
    ├── BadRequest                  400
    │   ├── ValueNotStorable        SQLite keeps any value, the others don't
    │   ├── TooMuchAtOnce           more than fits into one statement
    │   ├── UnreadableContent
    │   ├── UnreadableRequest       what isn't HTTP
    │   ├── MalformedJSON
    │   ├── SchemaMismatch
    │   ├── BadQuery
    │   ├── BadQueryValue
    │   ├── DuplicateKey            a parameter that may be given only once
    │   ├── MissingValue            a parameter that must be given
    │   ├── ObjectRefused           a provider can't be created or saved like this
    │   ├── InvalidCapacity         an inventory that offers nothing
    │   ├── StandardNameFixed       a standard class or trait can't be changed
    │   ├── UnknownTraits
    │   ├── InventoryMissing        an update of an inventory that isn't there
    │   └── UnknownProviderNamed    a body names a provider that doesn't exist
    │       └── ReshapedProviderUnknown
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
    │   │   ├── LostRace                others came first, however often it was tried
    │   │   └── InventoryExists
    │   ├── DuplicateName
    │   ├── InventoryInUse
    │   ├── ProviderInUse
    │   ├── ProviderHasChildren
    │   ├── ResourceClassExists
    │   ├── ResourceClassInUse
    │   ├── TraitInUse
    │   └── AllocationRefused
    │       ├── InvalidInventory        no inventory to take from
    │       ├── ConstraintViolated      min_unit, max_unit, step_size
    │       └── CapacityExceeded
    ├── BodyTooLong                 413
    ├── UnsupportedMediaType        415
    ├── HeadersTooLong              431
    ├── TransferNotImplemented      501
    ├── ServerBusy                  503
    ├── DatabaseUnavailable         503
    │   └── OutcomeUnknown          the connection broke while a change was stored
    ├── SearchUnfinished            503, a search for candidates that ran into a bound
    ├── SearchAbandoned             503, nobody waits for the answer
    └── StorageFull                 507

Operations and rules raise them; one place renders them (:mod:`placement.http.error_body`). A
handler that words an error differently from its own text says so with :func:`worded`.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

UNDEFINED = "placement.undefined_code"


class PlacementError(Exception):
    """A refusal with an HTTP meaning. Made from a ready text or from the facts its `text` names."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal Server Error"
    code: ClassVar[str] = UNDEFINED
    text: ClassVar[str] = ""
    #: whether the answer names the microversion in `vary` (rest-api.md 1.9)
    vary: ClassVar[bool] = True

    def __init__(self, message: str | None = None, **facts: Any) -> None:
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
    """The request's headers don't say properly what it carries."""

    vary = False


class UnreadableRequest(BadRequest):
    """What came over the connection is no request; `placement-api` refuses it."""

    text = "The request can't be read: {why}."


class SchemaMismatch(BadRequest):
    text = "JSON does not validate: {why}"


class BadQuery(BadRequest):
    text = "Invalid query string parameters: {why}"


class BadQueryValue(BadRequest):
    code = "placement.query.bad_value"


class DuplicateKey(BadRequest):
    code = "placement.query.duplicate_key"


class MissingValue(BadRequest):
    code = "placement.query.missing_value"


class ObjectRefused(BadRequest):
    text = "Object action {action} failed because: {reason}"


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


class ReshapedProviderUnknown(UnknownProviderNamed):
    code = "placement.resource_provider.not_found"
    text = (
        "Resource provider {uuid} in inventories not found: "
        "No resource provider with uuid {uuid} found"
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
        #: what is allowed, if the answer is to say so
        self.allow = allow


class NotAcceptable(PlacementError):
    status, title = 406, "Not Acceptable"


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
    """Too many requests wait for a thread already. This one changed nothing."""

    status, title = 503, "Service Unavailable"
    text = "Too many requests wait to be answered. Nothing was changed."


class DatabaseUnavailable(PlacementError):
    """The database can't be asked, or not soon enough. The request changed nothing."""

    status, title = 503, "Service Unavailable"
    text = "The database is not available. Nothing was changed."


class OutcomeUnknown(DatabaseUnavailable):
    """Nobody knows whether the change happened: what it would have changed must be looked at."""

    text = (
        "The connection to the database was lost while the change was stored. "
        "It may or may not have happened."
    )


class SearchUnfinished(PlacementError):
    """A search for candidates ran into a bound. Whether there are any isn't known."""

    status, title = 503, "Service Unavailable"
    code = "berth.search_unfinished"
    text = (
        "The search for allocation candidates was ended {ended}, before it was finished. {what} "
        "Ask for fewer groups, for groups that fewer providers can serve, or with a limit."
    )


class SearchAbandoned(PlacementError):
    """The client left before its search was finished."""

    status, title = 503, "Service Unavailable"
    code = "berth.search_abandoned"
    text = "The client left before its search was finished."


class StorageFull(PlacementError):
    """The database has no room for what the request would have stored."""

    status, title = 507, "Insufficient Storage"
    text = "The database has no space left. Nothing was changed."


class Conflict(PlacementError):
    status, title = 409, "Conflict"


class ConcurrentUpdate(Conflict):
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
    code = "placement.duplicate_name"


class InventoryInUse(Conflict):
    code = "placement.inventory.inuse"
    text = "Inventory for '{resource_classes}' on resource provider '{uuid}' in use."


class ProviderInUse(Conflict):
    code = "placement.resource_provider.inuse"
    text = "Unable to delete resource provider {uuid}: Resource provider has allocations."


class ProviderHasChildren(Conflict):
    code = "placement.resource_provider.cannot_delete_parent"
    text = "Unable to delete parent resource provider {uuid}: It has child resource providers."


class ResourceClassExists(Conflict):
    text = "Resource class already exists: {name}"


class ResourceClassInUse(Conflict):
    text = "Cannot delete resource class {name}. Class is in use in inventory."


class TraitInUse(Conflict):
    text = "The trait {name} is in use by a resource provider."


class AllocationRefused(Conflict):
    """The inventories can't give what an allocation asks."""


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


Wording = tuple[type[PlacementError], type[PlacementError], str]


def worded(*wordings: Wording) -> Callable:
    """Let a handler word errors its own way: `(raised, answered, text)`, first match wins.

    `text` may use `{error}` (the raised error's own text) and the route's parameters.
    """

    def decorate(handler: Callable) -> Callable:
        @functools.wraps(handler)
        def answer(call: Any, **place: str) -> Any:
            try:
                return handler(call, **place)
            except PlacementError as error:
                for raised, answered, text in wordings:
                    if isinstance(error, raised):
                        message = text.format(error=error.message, **place)
                        raise answered(message) from error
                raise

        return answer

    return decorate
