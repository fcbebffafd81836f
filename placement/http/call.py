"""One request as handlers see it, and the answer they give."""

import dataclasses
import datetime
from typing import Any

import flask
from oslo_config import cfg
from werkzeug.datastructures import Headers
from werkzeug.http import http_date

from placement.candidates.live import LiveSnapshot
from placement.errors import BodyTooLong, SchemaMismatch
from placement.http.client import client_left
from placement.http.context import RequestContext
from placement.http.environ import Environ, absolute_url
from placement.http.json_body import loads
from placement.http.json_text import dumps
from placement.http.query import Query, checked_query
from placement.microversions import Version, pick
from placement.policies.enforcement import Policy
from placement.schemas.schema import Schema
from placement.storage.engine import Database

NO_CONTENT = 204
#: from here on answers say how old they are
SINCE_CACHE_HEADERS: Version = (1, 15)

SchemaTable = dict[Version, Schema]


class Now:
    """Stands for the moment of the answer in `modified=`."""


NOW = Now()
Modified = datetime.datetime | Now | None


@dataclasses.dataclass(frozen=True)
class Services:
    """What handlers work with; made once by `create_app`."""

    conf: cfg.ConfigOpts
    database: Database
    policy: Policy
    snapshot: LiveSnapshot


class Answer(flask.Response):
    """An answer whose headers go out as they are.

    Werkzeug would copy them, and read Location, which repeats the Host header: that may be
    anything.
    """

    def get_wsgi_headers(self, environ: Any) -> Headers:
        """The headers, with the length of the content if there is any."""
        if self.status_code != NO_CONTENT:
            length = sum(len(piece) for piece in self.iter_encoded())
            self.headers["Content-Length"] = str(length)
        return self.headers


class Call:
    """A request with its negotiated version; `reply` makes the answer to it."""

    def __init__(
        self, environ: Environ, version: Version, context: RequestContext, services: Services
    ):
        self.environ = environ
        self.version = version
        self.context = context
        self.conf = services.conf
        self.database = services.database
        self.snapshot = services.snapshot
        self._policy = services.policy

    def at_least(self, minor: int) -> bool:
        """Whether the request's version is 1.minor or newer."""
        return self.version >= (1, minor)

    def authorize(self, rule: str, target: dict[str, Any] | None = None) -> None:
        """Raise Forbidden unless the caller may."""
        self._policy.authorize(self.context, rule, target)

    def read(self, schemas: SchemaTable) -> Any:
        """The body, as the schema of the request's version wants it.

        Raises BodyTooLong, MalformedJSON or SchemaMismatch.
        """
        content = flask.request.get_data(cache=False)
        if len(content) > self.conf.berth.max_body_size:
            raise BodyTooLong(longest=self.conf.berth.max_body_size)
        body = loads(content)
        reason = pick(schemas, self.version).why_not(body)
        if reason is not None:
            raise SchemaMismatch(why=reason)
        return body

    def client_left(self) -> bool:
        """Whether nobody waits for the answer any more, as far as can be known."""
        return client_left(self.environ)

    def query(self, schemas: SchemaTable) -> Query:
        """The query string, as the schema of the request's version wants it. Raises BadQuery."""
        return checked_query(self.environ.get("QUERY_STRING", ""), schemas, self.version)

    def path(self, *segments: str) -> str:
        """A path of this service behind its mount point, as bodies name it."""
        return self.environ.get("SCRIPT_NAME", "") + "/" + "/".join(segments)

    def reply(
        self,
        body: Any = None,
        status: int | None = None,
        text: str | None = None,
        pieces: list[bytes] | None = None,
        modified: Modified = None,
        cached: bool = False,
        location: str | None = None,
    ) -> flask.Response:
        """Answer with a body (200), or without one (204).

        :param text: a body that is JSON already
        :param pieces: a long one, in pieces
        :param modified: the answer's Last-Modified; it and Cache-Control appear from 1.15 on
        :param cached: whether Cache-Control appears even if there is no time to tell
        :param location: path of this service for the Location header
        """
        if body is not None:
            text = dumps(body)
        headers = []
        if location is not None:
            headers.append(("Location", absolute_url(self.environ, location)))
        if (modified is not None or cached) and self.version >= SINCE_CACHE_HEADERS:
            headers.append(("Cache-Control", "no-cache"))
            if modified is not None:
                moment = None if isinstance(modified, Now) else modified
                now = datetime.datetime.now(datetime.UTC)
                headers.append(("Last-Modified", http_date(moment or now)))
        content = pieces if text is None else text
        if content is not None:
            return Answer(content, status or 200, headers, content_type="application/json")
        response = Answer(None, status or NO_CONTENT, headers)
        del response.headers["Content-Type"]
        return response


def newest(moments: Any) -> Modified:
    """The newest of some row times; NOW if there are none."""
    return max((moment for moment in moments if moment is not None), default=NOW)
