"""The request as handlers see it, and the response they return."""

import contextlib
import datetime
import json
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import orjson
from werkzeug.http import http_date
from werkzeug.wsgi import ClosingIterator, get_input_stream

from placement.errors import BodyTooLong, MalformedJSON, SchemaMismatch
from placement.http import entity_tags
from placement.http.client_disconnect import client_left
from placement.http.environ import (
    JSON,
    STAND_IN,
    STOPPING,
    THREADS,
    Environ,
    Headers,
    StandIn,
    StartResponse,
)
from placement.http.identity.authentication import RequestContext
from placement.http.query import Query, checked_query, why_no_nul
from placement.http.services import Services
from placement.http.spool import Spool
from placement.microversions import SINCE_CACHE_HEADERS, Version
from placement.schemas.json_schema import SchemaTable, pick

_BY_FORM = ("vary", "accept")

#: what a header must not contain
_CONTROL = re.compile("[\x00-\x1f\x7f]")
#: integers this long may exceed 64 bits, and orjson would convert such integers to floats
_LONG_NUMBER = re.compile(rb"\d{19}")

#: status lines by number, in the reference's letters
_LINES = {status.value: f"{status.value} {status.phrase.upper()}" for status in HTTPStatus}
NO_CONTENT = 204
NOT_MODIFIED = 304
_BODILESS = (NO_CONTENT, NOT_MODIFIED)


class Answer:
    """A response whose headers are sent unchanged, with the length of its body.

    Werkzeug's would copy the headers and parse Location. Location repeats the client's Host header,
    which may hold any bytes, and the parser may fail on them. For a small request, that and what
    else it does would cost as much as all else.

    :param status: a number, or the whole line
    :param body: pieces; its method `close`, if it has one, is called by the server
    :param has_length: whether the headers tell the length of the body. If not, it is added behind
        them, and `body` is a list
    """

    __slots__ = ("_has_length", "body", "headers", "status")

    def __init__(
        self,
        status: int | str,
        headers: Headers,
        body: Iterable[bytes] = (),
        has_length: bool = False,
    ) -> None:
        self.status = _LINES[status] if isinstance(status, int) else status
        self.headers = headers
        self.body = body
        self._has_length = has_length or status in _BODILESS

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if not self._has_length:
            self.headers.append(("Content-Length", str(sum(map(len, self.body)))))
        start_response(self.status, self.headers)
        return () if environ["REQUEST_METHOD"] == "HEAD" else self.body


class Now:
    """The type of `NOW`: as `modified=`, it means the time of the response."""


NOW = Now()
Modified = datetime.datetime | Now | None


class Call:
    """A request with its negotiated version; `reply` builds the response.

    `form` is the media type that the client wants to have.
    """

    def __init__(
        self,
        environ: Environ,
        version: Version,
        context: RequestContext,
        services: Services,
        form: str = JSON,
    ):
        self.environ = environ
        self.version = version
        self.context = context
        self.conf = services.conf
        self.database = services.database
        self.snapshot = services.snapshot
        self.claims = services.claims
        self.watch = services.watch
        self.empty_searches = services.empty_searches
        self.usages = services.usages
        self.lists = services.lists
        self.suspects = services.suspects
        self.offers = services.offers
        self.others = services.others
        self.pages = services.pages
        self.described = services.described
        self.moves = services.moves
        self.empty_hour = services.empty_hour
        self.names = services.names
        self.form = form
        self._policy = services.policy

    def at_least(self, minor: int) -> bool:
        """Return whether the request's version is `1.<minor>` or newer."""
        return self.version >= (1, minor)

    def authorize(self, rule: str, target: Mapping[str, str | None] | None = None) -> None:
        """Raise Forbidden unless policy allows the caller to act on the target."""
        self._policy.authorize(self.context, rule, target)

    def read(self, schemas: SchemaTable) -> Any:
        """Return the body, validated against the schema of the request's version.

        Raises BodyTooLong, MalformedJSON or SchemaMismatch.
        """
        longest = self.conf.berth.max_body_size
        # no more than this is read, even without a Content-Length. The extra byte shows that a body
        # is too long
        content = get_input_stream(self.environ, max_content_length=longest + 1).read()
        if len(content) > longest:
            raise BodyTooLong(longest=longest)
        body = loads(content)
        reason = pick(schemas, self.version).why_not(body)
        if reason is not None:
            raise SchemaMismatch(why=reason)
        place = place_of_nul(content, body)
        if place is not None:
            raise SchemaMismatch(why=why_no_nul(place))
        return body

    @property
    def tries(self) -> int:
        """How often to try to write allocations when other writers interfere."""
        return self.conf.placement.allocation_conflict_retry_count

    @property
    def waits(self) -> int:
        """How many requests like this one may wait at once, so that others find a thread."""
        if not self.environ.get("wsgi.multithread"):
            return 0
        most: int | None = self.conf.berth.changes_waits
        threads = self.environ.get(THREADS)
        if threads is None:
            # this server doesn't tell how many threads it has: there may be two
            return 1 if most is None else most
        return min(2 if most is None else most, threads // 2)

    @property
    def stand_in(self) -> StandIn:
        """What lets other requests have a thread while this one waits, as far as the server can."""
        return self.environ.get(STAND_IN, contextlib.nullcontext)

    def server_stops(self) -> bool:
        """Return whether the server ends after the requests in progress, as far as it tells."""
        stopping = self.environ.get(STOPPING)
        return stopping is not None and bool(stopping())

    def client_left(self) -> bool:
        """Return whether the client has closed its connection, as far as the server can tell."""
        return client_left(self.environ)

    def query(self, schemas: SchemaTable) -> Query:
        """Return the query, validated against the schema of the request's version.

        Raises BadQuery.
        """
        return checked_query(self.environ.get("QUERY_STRING", ""), schemas, self.version)

    def path(self, *segments: str) -> str:
        """Join the segments to a path below the service's mount point, as links in bodies do."""
        return self.environ.get("SCRIPT_NAME", "") + "/" + "/".join(segments)

    def reply(
        self,
        body: object = None,
        status: int | None = None,
        text: str | None = None,
        pieces: list[bytes] | None = None,
        modified: Modified = None,
        cached: bool = False,
        location: str | None = None,
        etag: str | None = None,
    ) -> Answer:
        """Build the response: 200 with a body, 204 without one, unless `status` is given.

        :param body: a value to be encoded as JSON
        :param text: a body that is JSON already
        :param pieces: a long body that is JSON already, in pieces
        :param modified: time for Last-Modified; this header and Cache-Control exist since 1.15
        :param cached: whether to send Cache-Control even if `modified` is None
        :param location: path within this service, for the Location header
        :param etag: the text of the entity tag
        """
        if body is not None:
            # as the reference: blanks after separators, ASCII only
            text = json.dumps(body)
        headers = _tagged(etag)
        if location is not None:
            headers.append(("Location", absolute_url(self.environ, location)))
        if (modified is not None or cached) and self.version >= SINCE_CACHE_HEADERS:
            headers.append(("Cache-Control", "no-cache"))
            if modified is not None:
                moment = None if isinstance(modified, Now) else modified
                now = datetime.datetime.now(datetime.UTC)
                headers.append(("Last-Modified", http_date(moment or now)))
        if text is not None:
            content = text.encode()
            headers += [("Content-Type", self.form), ("Content-Length", str(len(content)))]
            return Answer(status or 200, headers, [content], has_length=True)
        if pieces is None:
            return Answer(status or NO_CONTENT, headers)
        headers.append(("Content-Type", self.form))
        return Answer(status or 200, headers, pieces)

    def stream(self, body: Spool, etag: str | None = None) -> Answer:
        """Build the response with a long body in the form that the client wants.

        :param body: it is closed after the response
        :param etag: the text of the entity tag
        """
        length, form = ("Content-Length", str(body.length)), ("Content-Type", self.form)
        headers = [length, *self._asked_again(etag), _BY_FORM, form]
        return Answer(200, headers, ClosingIterator(body.pieces(), body.close), has_length=True)

    def unchanged(self, etag: str | None, by_form: bool = True) -> Answer:
        """Build the response to a client that has the answer already.

        :param etag: the text of the entity tag
        :param by_form: whether the answer depends on Accept
        """
        by = [_BY_FORM] if by_form else []
        return Answer(NOT_MODIFIED, [*self._asked_again(etag), *by])

    def _asked_again(self, etag: str | None) -> list[tuple[str, str]]:
        """Return the headers of an answer that a client may keep, but must ask about again."""
        cached = [("Cache-Control", "no-cache")] if self.version >= SINCE_CACHE_HEADERS else []
        return [*cached, *_tagged(etag)]


def loads(body: bytes) -> Any:
    """Parse a request's body. Raises MalformedJSON with the standard library's message."""
    if not _LONG_NUMBER.search(body):
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            pass
    try:
        value = json.loads(body.decode())
        # fails on half of a surrogate pair, which no database can store
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as malformed:
        raise MalformedJSON(why=malformed) from malformed
    return value


def place_of_nul(body: bytes, value: object) -> str | None:
    """Say where the parsed body has a string with NUL, like `$.consumers[0]`; None: nowhere.

    PostgreSQL can't store the character. The other databases store it, and compare names that have
    it differently from each other.
    """
    # JSON has no other way to write NUL, so nearly all bodies need no closer look
    if b"\\u0000" not in body:
        return None
    waiting: list[tuple[str, object]] = [("$", value)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, str) and "\0" in part:
            return place
        if isinstance(part, dict):
            if any("\0" in name for name in part):
                return place
            waiting += [(f"{place}.{name}", item) for name, item in part.items()]
        elif isinstance(part, list):
            waiting += [(f"{place}[{number}]", item) for number, item in enumerate(part)]
    return None


def _tagged(etag: str | None) -> list[tuple[str, str]]:
    return [] if etag is None else [("ETag", entity_tags.quoted(etag))]


def newest(moments: Iterable[datetime.datetime | None]) -> Modified:
    """Return the latest of the rows' times, ignoring None; NOW if no time is left."""
    return max((moment for moment in moments if moment is not None), default=NOW)


def absolute_url(environ: Environ, path: str) -> str:
    """Return the URL of a path of this service: scheme, host, mount point and path.

    It has no control characters, so that a header can hold it.
    """
    scheme = environ["wsgi.url_scheme"]
    host = environ.get("HTTP_HOST") or f"{environ['SERVER_NAME']}:{environ['SERVER_PORT']}"
    default_port = {"http": ":80", "https": ":443"}.get(scheme, "")
    if default_port and host.endswith(default_port):
        host = host.removesuffix(default_port)
    # a name in the path may end with a newline, which a header must not contain
    path = quote(environ.get("SCRIPT_NAME", "") + path, encoding="latin-1")
    url = f"{scheme}://{host}{path}"
    # a server or a proxy may leave a folded line in them
    return url if url.isprintable() else _CONTROL.sub(lambda found: quote(found[0]), url)
