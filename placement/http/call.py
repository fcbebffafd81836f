"""The request as handlers see it, and the response they return."""

import contextlib
import dataclasses
import datetime
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import flask
from oslo_config import cfg
from werkzeug.datastructures import Headers
from werkzeug.http import http_date
from werkzeug.wrappers import Request

from placement.candidates.live.foreign_writers import OthersInFeed
from placement.errors import BodyTooLong, NotFound, SchemaMismatch
from placement.http import entity_tags
from placement.http.client_disconnect import client_left
from placement.http.environ import (
    JSON,
    STAND_IN,
    STOPPING,
    THREADS,
    Environ,
    StandIn,
    WSGIApplication,
    absolute_url,
)
from placement.http.identity.authentication import RequestContext
from placement.http.json_text import dumps, loads, place_of_nul, why_no_nul
from placement.http.query import Query, checked_query
from placement.http.spool import Spool
from placement.microversions import SINCE_CACHE_HEADERS, Version, pick
from placement.policies.enforcement import Policy
from placement.storage.database.engine import Connection, Database
from placement.storage.feed.feed_watch import FeedWatch

if TYPE_CHECKING:
    # only handlers need them
    from placement.candidates.cloud.snapshot import Snapshot
    from placement.candidates.request import CandidateRequest
    from placement.domain.provider_filter import ProviderFilter
    from placement.schemas.json_schema import Schema
    from placement.storage.provider_list import Listed
    from placement.storage.usages import ProjectUsage

NO_CONTENT = 204
NOT_MODIFIED = 304
_BODILESS = (NO_CONTENT, NOT_MODIFIED)
_BY_FORM = ("vary", "accept")

SchemaTable: TypeAlias = "dict[Version, Schema]"


class Now:
    """The type of `NOW`: as `modified=`, it means the time of the response."""


NOW = Now()
Modified = datetime.datetime | Now | None
T = TypeVar("T")


class Snapshots(Protocol):
    """Where searches get the cloud from."""

    def current(self) -> "Snapshot":
        """Return the cloud as of now."""

    def at_once(self, question: "Callable[[Connection, Snapshot], T]") -> "tuple[Snapshot, T]":
        """Return the cloud and the answer to a question, both of one moment."""

    def look_for_others(self) -> None:
        """Look whether others wrote without telling: the tables contradict what `current` said."""


class ClaimMaker(Protocol):
    """What makes the claims of this process; the feature `claims` knows the types of both."""

    def make(self, claim: Any) -> Any:
        """Make one claim; return what it got."""


class EmptySearchHook(Protocol):
    """Who is told of searches that found nothing."""

    def tell(self, call: "Call", snapshot: "Snapshot", request: "CandidateRequest") -> None:
        """Take note of an empty search of the snapshot."""


class DescriptionText(Protocol):
    """The description of the API in one form."""

    @property
    def tag(self) -> str:
        """The text of its entity tag."""

    @property
    def text(self) -> str:
        """The whole description."""


class ProjectUsageSource(Protocol):
    """What knows the usages of projects: `placement.operations.project_usages`."""

    def of_project(self, project: str, user: str | None, by_type: bool) -> "ProjectUsage":
        """Return the usage of a project's consumers, or of those of one user."""


class ProviderTexts(Protocol):
    """Providers as JSON: `ListedProviders` of `placement.operations.database_lists`."""

    @property
    def texts(self) -> Sequence[bytes]:
        """One or several providers in each, separated by a comma and a space."""

    @property
    def modified(self) -> datetime.datetime | None:
        """When one of them last changed; None: not known, or there are none."""


class Lists(Protocol):
    """What lists providers: `placement.operations.provider_lists`."""

    def find(
        self, wanted: "ProviderFilter", form: Hashable, write: "Callable[[Listed], bytes]"
    ) -> ProviderTexts:
        """Return the providers that pass a filter, as JSON."""


class Suspicions(Protocol):
    """What looks for suspects; the feature `suspects` knows the types of mark and answer."""

    def suspected(self, kinds: Collection[str], after: Any, limit: int) -> Any:
        """Return suspects of some kinds after a mark, at most `limit`."""


#: returns the empty searches of the last hour, None if nobody knows those of all workers; the
#: feature `empty_searches` knows the type
EmptyHour = Callable[[], Any]


def _uncounted() -> None:
    return None


#: returns the operator's names of aggregates, projects and users as JSON
Names = Callable[[], str]


def _no_names() -> str:
    return '{"aggregates": {}, "projects": {}, "users": {}, "problem": null}'


#: returns moves that would help a search that found nothing: the feature `plans` knows the types
Moves = Callable[[Any, Any, Any, Any], Any]


def _no_moves(*search: object) -> None:
    return None


#: returns the description of the API, of one version or of all, in a media type
Described = Callable[[Version | None, str], DescriptionText]


def _undescribed(version: Version | None, form: str) -> DescriptionText:
    raise NotFound("")


@dataclasses.dataclass(frozen=True)
class Services:
    """The objects that handlers share; `placement.app.start` makes them once.

    :param offers: the names of the extensions that the service offers
    :param watch: waits for changes
    :param pages: the pages of metrics, by path
    :param described: returns the description of the API, of one version or of all of them, in a
        media type
    :param moves: returns moves that would help a search that found nothing
    :param empty_hour: returns the empty searches of the last hour
    :param names: returns the operator's names
    :param others: whether services that don't append to the change feed may write
    """

    conf: cfg.ConfigOpts
    database: Database
    policy: Policy
    snapshot: Snapshots
    claims: ClaimMaker
    watch: FeedWatch
    empty_searches: EmptySearchHook
    usages: ProjectUsageSource
    lists: Lists
    suspects: Suspicions
    offers: tuple[str, ...] = ()
    others: OthersInFeed = dataclasses.field(default_factory=OthersInFeed)
    pages: Mapping[str, WSGIApplication] = dataclasses.field(default_factory=dict)
    described: Described = _undescribed
    moves: Moves = _no_moves
    empty_hour: EmptyHour = _uncounted
    names: Names = _no_names


class Answer(flask.Response):
    """A response whose headers are sent unchanged, with the length of its body.

    Werkzeug would copy the headers and parse Location. Location repeats the client's Host header,
    which may hold any bytes, and the parser may fail on them.
    """

    def get_wsgi_headers(self, environ: Environ) -> Headers:
        """Return the headers; add Content-Length if there is content and it is missing."""
        if self.status_code not in _BODILESS and "Content-Length" not in self.headers:
            length = sum(len(piece) for piece in self.iter_encoded())
            self.headers["Content-Length"] = str(length)
        return self.headers


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
        request = Request(self.environ, populate_request=False)
        # werkzeug reads no more than this, even without a Content-Length. The extra byte shows that
        # a body is too long
        request.max_content_length = longest + 1
        content = request.get_data(cache=False)
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
    ) -> flask.Response:
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
            text = dumps(body)
        headers = _tagged(etag)
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
            return Answer(content, status or 200, headers, content_type=self.form)
        response = Answer(None, status or NO_CONTENT, headers)
        del response.headers["Content-Type"]
        return response

    def stream(self, body: Spool, etag: str | None = None) -> flask.Response:
        """Build the response with a long body in the form that the client wants.

        :param body: it is closed after the response
        :param etag: the text of the entity tag
        """
        headers = [("Content-Length", str(body.length)), *self._asked_again(etag), _BY_FORM]
        response = Answer(body.pieces(), 200, headers, content_type=self.form)
        response.call_on_close(body.close)
        return response

    def unchanged(self, etag: str | None, by_form: bool = True) -> flask.Response:
        """Build the response to a client that has the answer already.

        :param etag: the text of the entity tag
        :param by_form: whether the answer depends on Accept
        """
        headers = [*self._asked_again(etag), *([_BY_FORM] if by_form else [])]
        response = Answer(None, NOT_MODIFIED, headers)
        del response.headers["Content-Type"]
        return response

    def _asked_again(self, etag: str | None) -> list[tuple[str, str]]:
        """Return the headers of an answer that a client may keep, but must ask about again."""
        cached = [("Cache-Control", "no-cache")] if self.version >= SINCE_CACHE_HEADERS else []
        return [*cached, *_tagged(etag)]


def _tagged(etag: str | None) -> list[tuple[str, str]]:
    return [] if etag is None else [("ETag", entity_tags.quoted(etag))]


def newest(moments: Iterable[datetime.datetime | None]) -> Modified:
    """Return the latest of the rows' times, ignoring None; NOW if no time is left."""
    return max((moment for moment in moments if moment is not None), default=NOW)
