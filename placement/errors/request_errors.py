"""Errors of requests that no data could make right: the service needn't look at what is stored.

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
    │   ├── InvalidCapacity         an inventory without capacity
    │   ├── StandardNameFixed       a change of a standard class or trait
    │   ├── NamedTwice              a provider both to write and to remove
    │   └── InvalidCustomName
    ├── Forbidden                   403
    ├── NotFound                    404
    │   └── NoSuchRoute             no endpoint has the URL
    ├── MethodNotAllowed            405
    ├── NotAcceptable               406
    ├── BodyTooLong                 413
    ├── UnsupportedMediaType        415
    ├── HeadersTooLong              431
    └── TransferNotImplemented      501
"""

from placement.errors.placement_error import PlacementError


class BadRequest(PlacementError):
    status, title = 400, "Bad Request"


class ValueNotStorable(BadRequest):
    text = "A value is too long, too large or holds a character that the database can't store."


class TooMuchAtOnce(BadRequest):
    text = "The request names more than the database can look for at once."


class UnreadableContent(BadRequest):
    """Content-Length or Content-Type is missing, invalid or contradicts the content."""

    vary = False


class UnreadableRequest(BadRequest):
    """The bytes from the connection aren't an HTTP request; `placement-api` rejects them."""

    text = "The request can't be read: {why}."


class MalformedJSON(BadRequest):
    text = "Malformed JSON: {why}"


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


class InvalidCapacity(BadRequest):
    text = (
        "Invalid inventory for '{resource_class}' on resource provider '{uuid}'. "
        "The reserved value is greater than {bound}."
    )


class StandardNameFixed(BadRequest):
    """A standard resource class or trait can be neither changed nor deleted."""


class NamedTwice(BadRequest):
    text = "Resource provider {uuid} is both in providers and in remove."


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


class MethodNotAllowed(PlacementError):
    status, title = 405, "Method Not Allowed"

    text = "The method specified is not allowed for this resource."

    def __init__(self, message: str | None = None, allow: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        #: methods for the header `Allow`; empty: no such header
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
