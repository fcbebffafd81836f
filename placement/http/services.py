"""What handlers work with besides the request: the parts of the service that they share."""

import dataclasses
import datetime
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from oslo_config import cfg

from placement.candidates.live.foreign_writers import OthersInFeed
from placement.errors import NotFound
from placement.http.environ import WSGIApplication
from placement.microversions import Version
from placement.policies.enforcement import Policy
from placement.storage.database.engine import Connection, Database
from placement.storage.feed.feed_watch import FeedWatch

if TYPE_CHECKING:
    # only handlers need them
    from placement.candidates.cloud.snapshot import Snapshot
    from placement.candidates.request import CandidateRequest
    from placement.domain.provider_filter import ProviderFilter
    from placement.storage.provider_list import Listed
    from placement.storage.usages import ProjectUsage

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

    def tell(self, call: Any, snapshot: "Snapshot", request: "CandidateRequest") -> None:
        """Take note of an empty search of the snapshot.

        :param call: the `Call` that searched, whose module imports this one
        """


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
