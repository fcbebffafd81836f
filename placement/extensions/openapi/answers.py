"""The answers of an endpoint: bodies by media type, headers, and errors with their codes."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

from placement.errors import PlacementError, kinds_of
from placement.extensions.openapi.examples import example
from placement.extensions.openapi.forms import Forms, camel
from placement.http.dispatch import is_below_prefix
from placement.http.environ import JSON, NDJSON
from placement.microversions import OLDEST, Version, name
from placement.schemas.answer_shapes import NOT_GIVEN, AnswerTable, Bodiless
from placement.schemas.json_schema import Json, Schema, pick
from placement.schemas.refusals import (
    ANYWHERE,
    EXTENSION_REFUSALS,
    EXTENSION_UNNEGOTIATED,
    REFUSALS,
    TITLES,
    UNAUTHORIZED,
    UNAUTHORIZED_BY_KEYSTONE,
    UNAVAILABLE,
    UNNEGOTIATED,
)
from placement.schemas.success_headers import success_headers

_TEXT: Json = {"schema": {"type": "string"}}
#: the titles of successes, by status
_SUCCESSES = {200: "OK", 201: "Created", 204: "No Content", 304: "Not Modified"}

#: RFC 9110, 5.6.7
_DATE = "^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$"
#: where references to headers point to
HEADERS_AT = "#/components/headers/"
#: begins the name of the component of a header that an answer may lack
_OPTIONAL = "Optional-"

HEADERS: dict[str, Json] = {
    name: {"description": description, "schema": {"type": "string", **rule}}
    for name, description, rule in (
        (
            "OpenStack-API-Version",
            "The microversion of the answer.",
            {"pattern": r"^placement 1\.[0-9]+$"},
        ),
        (
            "x-openstack-request-id",
            "Names the request in the log.",
            {"pattern": "^req-[0-9a-f-]{36}$"},
        ),
        (
            "Vary",
            "The headers of the request on which the answer depends.",
            {"pattern": "^[A-Za-z-]+(, ?[A-Za-z-]+)*$"},
        ),
        (
            "Cache-Control",
            "An answer that was kept must be asked for again.",
            {"const": "no-cache"},
        ),
        ("Last-Modified", "When the newest part of the answer changed.", {"pattern": _DATE}),
        ("Location", "The URL of what was created.", {"pattern": "^https?://[^/]+/"}),
        ("ETag", "Names this answer, for If-None-Match.", {"pattern": '^"[!#-~]+"$'}),
        ("Allow", "The methods that the path has.", {"pattern": "^[A-Z]+(, [A-Z]+)*$"}),
        ("Retry-After", "Seconds after which to ask again.", {"pattern": "^[0-9]+$"}),
        ("WWW-Authenticate", "The keystone that gives tokens.", {}),
    )
}


@dataclasses.dataclass(frozen=True)
class EndpointPlace:
    """Where an endpoint is, what the operation is named, and what it answers.

    :param responses: the schemas of its answers, by status
    :param line: the schema of one line, where an answer may be one JSON value a line
    """

    path: str
    method: str
    operation: str
    responses: Mapping[int, AnswerTable]
    line: Schema | None = None


def answers(
    place: EndpointPlace, version: Version, forms: Forms, media: Sequence[str], needs_token: bool
) -> dict[str, Json]:
    """Return the answers by status, each in the form of OpenAPI.

    :param media: the media types of a body
    :param needs_token: whether a request without a caller is refused
    """
    found: dict[int, Json] = {}
    refused = {406, *ANYWHERE}
    for status, table in place.responses.items():
        shape = pick(table, version) if min(table) <= version else NOT_GIVEN
        if shape is NOT_GIVEN:
            continue
        if status >= 400:
            refused.add(status)
        else:
            found[status] = _success(place, status, version, shape, forms, media)
    for status in refused:
        found[status] = _refusal(place, status, version, forms)
    if needs_token:
        found[401] = forms.answer("Unauthorized", lambda: _unauthorized(forms))
    return {str(status): found[status] for status in sorted(found)}


def _success(
    place: EndpointPlace,
    status: int,
    version: Version,
    shape: Schema | Bodiless,
    forms: Forms,
    media: Sequence[str],
) -> Json:
    headers = success_headers(place.path, place.method, status, version)
    answer: Json = {"description": _SUCCESSES[status], "headers": _headers(headers)}
    if not isinstance(shape, Bodiless):
        schema = forms.component(f"{camel(place.operation)}Response", shape.source)
        answer["content"] = {each: {"schema": schema} for each in media}
        shown = example(place.method, place.path)
        # examples are of the newest version, and older ones may answer in another form
        if shown.get("status") == status and shape.is_sure(shown["answer"]):
            answer["content"].get(JSON, {})["example"] = shown["answer"]
        if NDJSON in media and place.line is not None:
            line = forms.component(f"{camel(place.operation)}Line", place.line.source)
            answer["content"][NDJSON] = {"schema": {"type": "string"}, "x-line": line}
    return answer


def _refusal(place: EndpointPlace, status: int, version: Version, forms: Forms) -> Json:
    """Return the answer of an error; the errors of an unreadable version have no code."""
    is_extension = is_below_prefix(place.path)
    common = (EXTENSION_REFUSALS if is_extension else REFUSALS)[status]
    table = place.responses.get(status, common)
    shapes = [cast(Schema, pick(table, version))]
    # an endpoint whose errors have further codes has answers of its own
    owner = "Extension" if is_extension else ""
    if table is not common:
        owner = place.operation
    title = camel(owner + "_" + TITLES[status].replace(" ", "_"))
    unnegotiated = EXTENSION_UNNEGOTIATED if is_extension else UNNEGOTIATED
    if status in unnegotiated:
        shapes.append(unnegotiated[status])
    if status == 503:
        shapes.append(UNAVAILABLE)
    headers = {"OpenStack-API-Version": False, "x-openstack-request-id": True, "Vary": False}
    headers |= {405: {"Allow": False}, 503: {"Retry-After": False}}.get(status, {})

    def answer() -> Json:
        return {
            "description": f"{TITLES[status]}.{_codes(status, table, version)}",
            "headers": _headers(headers),
            "content": _content(forms.component(title, _any(shapes))),
        }

    return forms.answer(title, answer)


def _codes(status: int, table: AnswerTable, version: Version) -> str:
    """Return a text about the codes that the errors have, if they have any."""
    since: dict[str, Version] = {}
    for first, shape in table.items():
        if first <= version:
            for code in _codes_of(cast(Schema, shape)):
                since.setdefault(code, first)
    known = sorted(since.keys() - {PlacementError.code})
    if not known:
        return ""
    from_the_first = min(since.values())
    words = "" if from_the_first == OLDEST else f", since {name(from_the_first)}"
    text = f" Codes of its errors{words}:\n"
    for code in known:
        words = "" if since[code] == from_the_first else f", since {name(since[code])}"
        text += f"\n* `{code}`{words}: {meaning_of(code, status)}"
    return text


def _codes_of(shape: Schema) -> list[str]:
    """Return the codes that a schema of errors allows."""
    error = shape.source["properties"]["errors"]["items"]["properties"]
    codes: list[str] = error.get("code", {}).get("enum", [])
    return codes


def meaning_of(code: str, status: int) -> str:
    """Return what an error with this code means: the first line of its class's docstring."""
    kind = next(
        kind for kind in kinds_of(PlacementError) if kind.code == code and kind.status == status
    )
    return (kind.__doc__ or "").split("\n", 1)[0]


def _unauthorized(forms: Forms) -> Json:
    schema = forms.component("Unauthorized", _any([UNAUTHORIZED, UNAUTHORIZED_BY_KEYSTONE]))
    return {
        "description": "The request has no valid token.",
        "headers": _headers({"x-openstack-request-id": True, "WWW-Authenticate": False}),
        "content": _content(schema),
    }


def _any(shapes: Sequence[Schema]) -> Json:
    """Return one schema for all shapes. Errors differ in a few properties: these are optional."""
    sources = [shape.source for shape in shapes]
    if len(sources) == 1:
        return sources[0]
    if not all("errors" in source["properties"] for source in sources):
        return {"anyOf": sources}
    errors = [source["properties"]["errors"] for source in sources]
    items = [error["items"] for error in errors]
    properties: Json = {}
    for item in items:
        properties |= {key: properties.get(key, value) for key, value in item["properties"].items()}
    required = [key for key in items[0]["required"] if all(key in i["required"] for i in items)]
    merged = items[0] | {"properties": properties, "required": required}
    return sources[0] | {"properties": {"errors": errors[0] | {"items": merged}}}


def _content(schema: Json) -> Json:
    """Return an error's forms: JSON, and others for clients that don't accept it."""
    return {JSON: {"schema": schema}, "text/html": _TEXT, "text/plain": _TEXT}


def _headers(names: Mapping[str, bool]) -> Json:
    """Return references to headers.

    :param names: by name of a header, whether the answer always has it
    """
    return {
        each: {"$ref": HEADERS_AT + (each if always else f"{_OPTIONAL}{each}")}
        for each, always in names.items()
    }


def header_rule(component: str) -> Json:
    """Return the rule of a component that an answer refers to."""
    name = component.removeprefix(_OPTIONAL)
    return HEADERS[name] | {"required": name == component}
