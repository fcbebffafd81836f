"""Bodies of error responses (rest-api.md 1.2, 1.6, 1.7, 2.1).

Clients that accept JSON get JSON; others get HTML or plain text.
"""

import functools
from collections.abc import Collection, Mapping, Sequence

from placement.errors import ConcurrentUpdate, PlacementError, PositionGone, kinds_of
from placement.microversions import OLDEST, SINCE_CODES, Version
from placement.schemas.answer_shapes import REQUEST_ID, AnswerTable, Bodiless, exactly
from placement.schemas.json_schema import STRING, Json, Schema

#: titles, by status
TITLES = {kind.status: kind.title for kind in kinds_of(PlacementError)} | {401: "Unauthorized"}
#: how `detail` begins, by status; the error's own text follows after a blank line
EXPLANATIONS = {
    400: "The server could not comply with the request since it is either malformed or "
    "otherwise incorrect.",
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    405: "The method ",
    406: "The resource could not be generated that was acceptable to your browser ",
    409: "There was a conflict when trying to complete your request.",
    410: "This resource is no longer available.",
    413: "The body of your request was too large for this server.",
    415: "The request media type ",
    431: "The request header fields were too large",
    500: "The server has either erred or is incapable of performing the requested operation.",
    501: "The server has either erred or is incapable of performing the requested operation.",
    503: "The server is currently unavailable. Please try again at a later time.",
    507: "There was not enough space to save the resource",
}
#: the codes that any error with a status may have; endpoints have more (`refusals`)
_CODES = {status: {PlacementError.code} for status in EXPLANATIONS} | {
    409: {PlacementError.code, ConcurrentUpdate.code},
    410: {PositionGone.code},
}
#: statuses that any request may be answered with: the service or its database failed, or the
#: request is too long
ANYWHERE = (413, 431, 500, 501, 503, 507)
_VERSION: Json = {"type": "string", "pattern": r"^1\.[0-9]+$"}
_SERVED: Json = {"max_version": _VERSION, "min_version": _VERSION}


def _body(status: int, more: Json | None = None) -> Schema:
    error = {
        "status": {"const": status},
        "title": {"const": TITLES[status]},
        "detail": {"type": "string", "pattern": f"^{EXPLANATIONS[status]}"},
        "request_id": REQUEST_ID,
    }
    errors = {"type": "array", "items": exactly(error | (more or {})), "minItems": 1, "maxItems": 1}
    return Schema(exactly({"errors": errors}))


def _with_code(status: int, codes: Collection[str], more: Json | None = None) -> Schema:
    return _body(status, {"code": {"enum": sorted(codes)}} | (more or {}))


#: (first microversion, code), several
_More = tuple[tuple[Version, str], ...]


@functools.cache
def _table(status: int, more: _More, in_extension: bool) -> AnswerTable:
    """Return the table of errors with a status; below /berth/v1 they have codes from 1.0 on."""
    first = OLDEST if in_extension else SINCE_CODES
    table: dict[Version, Schema | Bodiless] = {} if in_extension else {OLDEST: _body(status)}
    for version in sorted({first, *(max(since, first) for since, _ in more)}):
        known = {code for since, code in more if since <= version}
        table[version] = _with_code(status, _CODES[status] | known)
    return table


#: a status, or an error that has a code which not every endpoint has
Refused = int | type[PlacementError]


def refusals(
    *refused: Refused,
    later: Mapping[int, Sequence[type[PlacementError]]] | None = None,
    in_extension: bool = False,
) -> dict[int, AnswerTable]:
    """Return the tables of an endpoint's errors, by status.

    :param later: further errors, by the minor version since which they occur
    :param in_extension: whether the endpoint is below /berth/v1
    """
    more: dict[int, list[tuple[Version, str]]] = {}
    groups = [(OLDEST, refused), *(((1, minor), kinds) for minor, kinds in (later or {}).items())]
    for since, kinds in groups:
        for kind in kinds:
            if isinstance(kind, int):
                more.setdefault(kind, [])
            else:
                more.setdefault(kind.status, []).append((since, kind.code))
    return {status: _table(status, tuple(sorted(of)), in_extension) for status, of in more.items()}


#: errors of requests whose microversion is served, by status, with the codes of any endpoint
REFUSALS: dict[int, AnswerTable] = refusals(*EXPLANATIONS)
#: the same below /berth/v1
EXTENSION_REFUSALS: dict[int, AnswerTable] = refusals(*EXPLANATIONS, in_extension=True)

#: errors of requests whose microversion can't be read or isn't served, by status
UNNEGOTIATED: dict[int, Schema] = {
    400: _body(400),
    406: _body(406, _SERVED),
}
#: the same below /berth/v1
EXTENSION_UNNEGOTIATED: dict[int, Schema] = {
    400: _with_code(400, _CODES[400]),
    406: _with_code(406, _CODES[406], _SERVED),
}


def _plain(status: int) -> Schema:
    """Return the schema of webob's own form."""
    code = {"const": f"{status} {TITLES[status]}"}
    return Schema(exactly({"message": STRING, "code": code, "title": {"const": TITLES[status]}}))


#: the request has no authenticated caller
UNAUTHORIZED: Schema = _plain(401)
#: the request has no valid keystone token: keystonemiddleware's form
UNAUTHORIZED_BY_KEYSTONE = Schema(
    exactly(
        {
            "error": exactly(
                {
                    "code": {"const": 401},
                    "title": {"const": TITLES[401]},
                    "message": {"const": "The request you have made requires authentication."},
                }
            )
        }
    )
)
#: keystone can't be reached
UNAVAILABLE: Schema = _plain(503)
