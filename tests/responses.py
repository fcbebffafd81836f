"""Check a response to any request: status, headers, and body against its schema.

:func:`complaints` checks one exchange against the table of all responses and rest-api.md 1.2 –
1.10.
"""

import dataclasses
import functools
import json
import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import unquote

from webob import acceptparse

from placement.app import api
from placement.http.dispatch import is_below_prefix
from placement.http.environ import DESCRIPTIONS
from placement.microversions import HISTORY, NEWEST, OLDEST, Version, name
from placement.schemas.answer_shapes import NO_BODY, NOT_GIVEN
from placement.schemas.json_schema import Schema, pick
from placement.schemas.refusals import (
    EXTENSION_REFUSALS,
    EXTENSION_UNNEGOTIATED,
    REFUSALS,
    TITLES,
    UNAUTHORIZED,
    UNAUTHORIZED_BY_KEYSTONE,
    UNAVAILABLE,
    UNNEGOTIATED,
)
from tests.document import complaints_by_document, complaints_of_monitoring

API = api()
RESPONSES = API.responses
LINES = API.lines

JSON, HTML, PLAIN = "application/json", "text/html; charset=UTF-8", "text/plain; charset=UTF-8"
NDJSON = "application/x-ndjson"
YAML = "application/yaml"
YAML_ROUTES = ("/berth/v1/openapi.yaml",)
REQUEST_ID = re.compile("req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
VERSIONS = {f"placement {name(version)}": version for version in HISTORY}
#: the service ignores one newline at the end of a path
_ROUTES = {
    path: re.compile(
        re.sub("{[a-z_]+}", "[^/]+", path) + ("" if path.startswith("/berth/") else "\n?")
    )
    for path in RESPONSES
}


@dataclasses.dataclass(frozen=True)
class Exchange:
    """A request and its response; names of headers are in lower case.

    :param path: decoded as PEP 3333 says, without the mount point
    :param cors: whether the service is known to answer OPTIONS itself
    :param extensions: whether the service has the extensions
    """

    method: str
    path: str
    asked: Mapping[str, str]
    status: int
    headers: Mapping[str, str]
    body: bytes
    cors: bool = False
    extensions: bool = True

    @property
    def version(self) -> Version | None:
        """The negotiated microversion, or None."""
        return VERSIONS.get(self.headers.get("openstack-api-version", ""))

    @functools.cached_property
    def route(self) -> str | None:
        """The path in the table that matches the request's, or None."""
        path = self.path or "/"
        return next((route for route, rule in _ROUTES.items() if rule.fullmatch(path)), None)

    @property
    def form_of_refusals(self) -> str:
        """The content type that an error has for this client (rest-api.md 1.5)."""
        accept = self.asked.get("accept", "*/*")
        if accept in ("", "*/*") or (NDJSON in accept and is_below_prefix(self.path)):
            accept = JSON
        header = acceptparse.create_accept_header(accept)
        offers = header.acceptable_offers(["text/html", JSON])
        return {"text/html": HTML, JSON: JSON}[offers[0][0]] if offers else PLAIN

    def __str__(self) -> str:
        version = self.headers.get("openstack-api-version", "no version")
        return f"{self.method} {self.path!r} ({version}) answered {self.status}"


#: what operators' programs ask, before authentication and without microversions
_PROBES = ("/healthcheck", "/berth/v1/health")
#: files for browsers (tests/functional/placement/extensions/page)
_PAGE = re.compile(r"/berth/v1/ui(/.*)?")
_FOR_PROMETHEUS = ("/metrics", "/metrics/providers")


def complaints(exchange: Exchange) -> list[str]:
    """Return what is wrong with the response, a line each; an empty list if nothing is."""
    is_probe = exchange.path in _PROBES and "x-openstack-request-id" not in exchange.headers
    if is_probe or exchange.path in _FOR_PROMETHEUS:
        return [f"{exchange}: {complaint}" for complaint in complaints_of_monitoring(exchange)]
    if _PAGE.fullmatch(exchange.path) and "x-openstack-request-id" not in exchange.headers:
        return []
    found = [*_of_request_id(exchange), *_of_header_names(exchange)]
    text = exchange.headers.get("openstack-api-version")
    if text is not None and text not in VERSIONS:
        found.append(f"openstack-api-version {text!r}")
    elif exchange.version is None:
        found += _of_unversioned(exchange)
    else:
        found += _of_versioned(exchange)
    return [f"{exchange}: {complaint}" for complaint in found]


#: errors of requests that were rejected before the endpoint was determined
ANYWHERE = (413,)


def _of_request_id(exchange: Exchange) -> list[str]:
    request_id = exchange.headers.get("x-openstack-request-id", "")
    return [] if REQUEST_ID.fullmatch(request_id) else [f"request id {request_id!r}"]


#: headers that any answer may have, with those that a server adds
_EVERYWHERE = {
    *("content-type", "content-length", "x-openstack-request-id"),
    *("openstack-api-version", "vary", "date", "server", "connection"),
    # if the operator wants it (doc/monitoring.rst)
    "server-timing",
}
_OF_SUCCESSES = {"cache-control", "last-modified", "location", "etag"}
_OF_REFUSALS = {401: {"www-authenticate"}, 405: {"allow"}, 503: {"retry-after"}}


def _of_header_names(exchange: Exchange) -> list[str]:
    status = exchange.status
    allowed = _OF_SUCCESSES if status < 400 else _OF_REFUSALS.get(status, set())
    crosses = exchange.cors or "origin" in exchange.asked
    if exchange.method == "OPTIONS" and crosses:
        allowed = allowed | {"allow"}
    return [
        f"the header {header}"
        for header in exchange.headers.keys() - _EVERYWHERE - allowed
        if not (crosses and header.startswith("access-control-"))
    ]


def _of_unversioned(exchange: Exchange) -> list[str]:
    """Return what is wrong with a response to a request whose microversion is unknown."""
    status = exchange.status
    preflight = exchange.method == "OPTIONS" and (exchange.cors or "origin" in exchange.asked)
    if status == 200 and preflight:
        return _of_absence(exchange)
    if status == 401 and "www-authenticate" in exchange.headers:
        return _of_json(exchange, UNAUTHORIZED_BY_KEYSTONE) or complaints_by_document(exchange)
    unnegotiated = UNNEGOTIATED
    is_without = is_below_prefix(exchange.path) and not exchange.extensions
    if is_below_prefix(exchange.path) and not is_without:
        unnegotiated = EXTENSION_UNNEGOTIATED
    schema = {401: UNAUTHORIZED, 503: UNAVAILABLE, **unnegotiated}.get(status)
    if schema is None:
        return ["this status needs a microversion"]
    found = _of_refusal(exchange, schema)
    # with noauth2 the mount point itself needs a token, and so does the place of the description in
    # a service without extensions
    is_described = not is_without and exchange.path not in ("", *DESCRIPTIONS)
    return found or (complaints_by_document(exchange) if is_described else [])


def _of_versioned(exchange: Exchange) -> list[str]:
    text = exchange.headers["openstack-api-version"]
    if exchange.version not in _asked_for(exchange):
        return [f"openstack-api-version {text!r}, which wasn't asked for"]
    if is_below_prefix(exchange.path) and not exchange.extensions:
        if exchange.status != 404:
            return ["this path is unknown without extensions"]
        return _of_refusal(exchange, pick(REFUSALS[404], exchange.version))
    table = _table(exchange)
    if table is None or min(table) > exchange.version:
        return ["this status is never given here"]
    schema = pick(table, exchange.version)
    if schema is NOT_GIVEN:
        return ["this status is no longer given here"]
    if exchange.status >= 400:
        # which refusals have `Vary` isn't in the tables (rest-api.md 1.9)
        found = _of_vary(exchange) if "vary" in exchange.headers else []
        found += _of_refusal(exchange, schema) + _of_allow(exchange)
    else:
        found = _of_absence(exchange) if schema is NO_BODY else _of_json(exchange, schema)
        found = found or _of_success_headers(exchange)
    return found or complaints_by_document(exchange)


def _asked_for(exchange: Exchange) -> Collection[Version]:
    """Return the microversions that may answer the request: mostly one."""
    asked = exchange.asked.get("openstack-api-version")
    if asked is None:
        return [NEWEST if exchange.extensions and is_below_prefix(exchange.path) else OLDEST]
    plain = re.fullmatch(r"placement (?:1\.(\d+)|latest)", asked)
    if plain is None:
        # a request for several services, or with more spaces
        return HISTORY
    return [NEWEST if plain[1] is None else (1, int(plain[1]))]


def _table(exchange: Exchange) -> Any:
    """Return the table for the response's body, or None if the status isn't allowed."""
    endpoints = RESPONSES.get(exchange.route) if exchange.route else None
    refusals = EXTENSION_REFUSALS if is_below_prefix(exchange.path) else REFUSALS
    if exchange.status in ANYWHERE:
        return refusals[exchange.status]
    if endpoints is None:
        return refusals[exchange.status] if exchange.status in (400, 404) else None
    answers = endpoints.get(exchange.method)
    if answers is None:
        return refusals[exchange.status] if exchange.status in (400, 405) else None
    return answers.get(exchange.status)


def _of_refusal(exchange: Exchange, schema: Schema) -> list[str]:
    """Return what is wrong with an error: its content type, and its body if it is JSON."""
    form = HTML if exchange.method == "HEAD" else exchange.form_of_refusals
    kind = exchange.headers.get("content-type")
    if kind != form:
        return [f"content type {kind!r}, not {form!r}"]
    if exchange.method == "HEAD":
        return [f"the body {exchange.body!r}"] if exchange.body else []
    wrong = _of_length(exchange)
    if wrong:
        return wrong
    title = f"{exchange.status} {TITLES[exchange.status]}"
    if form == JSON:
        return _of_json(exchange, schema)
    start = f"<h1>{title}</h1>" if form == HTML else f"{title}\n\n"
    text = exchange.body.decode()
    return [] if start in text else [f"{start!r} is not in {text!r}"]


def _of_json(exchange: Exchange, schema: Schema) -> list[str]:
    kind = exchange.headers.get("content-type")
    if exchange.route in YAML_ROUTES and exchange.status == 200:
        wrong = [] if kind == YAML else [f"content type {kind!r}, not {YAML!r}"]
        return wrong or _of_length(exchange)
    in_lines = kind == NDJSON and exchange.status == 200 and exchange.route in LINES
    if kind != JSON and not in_lines:
        return [f"content type {kind!r}, not {JSON!r}"]
    wrong = _of_length(exchange)
    if wrong:
        return wrong
    if not in_lines:
        return _of_text(exchange.body, schema)
    *lines, rest = exchange.body.split(b"\n")
    found = [complaint for line in lines for complaint in _of_text(line, LINES[exchange.route])]
    return [*found, f"{rest!r} after the last line"] if rest else found


def _of_length(exchange: Exchange) -> list[str]:
    length = exchange.headers.get("content-length")
    if length == str(len(exchange.body)):
        return []
    return [f"content length {length!r} of {len(exchange.body)} bytes"]


def _of_text(text: bytes, schema: Schema) -> list[str]:
    try:
        body = json.loads(text, object_pairs_hook=_without_repetition)
    except ValueError as malformed:
        return [f"the body is not JSON: {malformed}"]
    reason = schema.why_not(body)
    return [] if reason is None else [reason]


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a key repeats: {[key for key, _ in pairs]}")
    return found


def _of_absence(exchange: Exchange) -> list[str]:
    """Return what is wrong with a response that must have neither body nor content type."""
    found = [f"the body {exchange.body!r}"] if exchange.body else []
    kind, length = exchange.headers.get("content-type"), exchange.headers.get("content-length")
    if kind is not None and exchange.method != "OPTIONS":
        found.append(f"content type {kind!r} of no content")
    if length not in ((None,) if exchange.status in (204, 304) else ("0",)):
        found.append(f"content length {length!r} of no content")
    return found


def _of_success_headers(exchange: Exchange) -> list[str]:
    """Return what is wrong with the headers of a success, beyond what the document says of them."""
    found = _of_vary(exchange)
    location = exchange.headers.get("location")
    if location is not None and not _leads_to_what_was_made(exchange, location):
        found.append(f"location {location!r}")
    return found


def _of_vary(exchange: Exchange) -> list[str]:
    vary = exchange.headers.get("vary", "")
    if "openstack-api-version" in vary or (vary == "Origin" and exchange.status >= 400):
        return []
    return [f"vary {vary!r}"]


#: behind a proxy the service is elsewhere for its clients
_OF_PROXIES = ("forwarded", "x-forwarded-host", "x-forwarded-proto")


def _leads_to_what_was_made(exchange: Exchange, location: str) -> bool:
    """Return whether a URL is that of the request, or of one thing below it for a POST."""
    host = exchange.asked.get("host")
    is_direct = not any(header in exchange.asked for header in _OF_PROXIES)
    if host is not None and is_direct and not location.startswith(f"http://{host}/"):
        return False
    url, path = unquote(location), exchange.path.removesuffix("\n")
    if exchange.method != "POST":
        return url.endswith(path)
    folder, _, made = url.rpartition("/")
    shown = json.loads(exchange.body).get("uuid", made) if exchange.body else made
    return folder.endswith(path) and made == shown


def _of_allow(exchange: Exchange) -> list[str]:
    """Return what is wrong with `Allow`, which names the methods of all versions."""
    endpoints = RESPONSES.get(exchange.route) if exchange.route else None
    foreign = endpoints is not None and exchange.method not in endpoints
    allow = ", ".join(endpoints) if foreign and exchange.status == 405 else None
    given = exchange.headers.get("allow")
    return [] if given == allow else [f"allow {given!r}, not {allow!r}"]
