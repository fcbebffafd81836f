"""The composition root: the only module that creates the service's parts and connects them."""

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi
from oslo_policy.policy import Enforcer, RuleDefault

from placement.candidates.live.foreign_writers import ALWAYS, OthersInFeed, OtherWriters
from placement.errors import Conflict, codes_of
from placement.extensions.explain.empty_searches import EmptySearches, SilentLog
from placement.extensions.monitoring import port
from placement.extensions.monitoring.access import ADDRESSES, OFF, TOKEN, Neighbours, networks
from placement.extensions.monitoring.counting import Counting
from placement.extensions.monitoring.health import Health, document
from placement.extensions.names.names_file import NamesFile
from placement.extensions.openapi.texts import Texts
from placement.extensions.page import serving as page_serving
from placement.extensions.plans.hook import moves_that_help
from placement.features import Api, Feature
from placement.http.dispatch import FaultWrapper, Placement, Probes
from placement.http.environ import OPEN_PATHS, WSGIApplication, template_of
from placement.http.identity.authentication import Identification, authenticated
from placement.http.metering import Metered, ServerTiming
from placement.http.probes import HEALTH, HEALTHCHECK, healthcheck
from placement.http.probes import health as health_answers
from placement.http.profiling import profiled
from placement.http.request_log import RequestLog, StatementCounting
from placement.http.services import Services
from placement.http.tracing import traced
from placement.installation import our_version
from placement.metrics.families import families
from placement.metrics.layout import SeriesLayout
from placement.metrics.tally import UNCOUNTED, Tally
from placement.operations.database_lists import DatabaseLists
from placement.operations.project_usages import ProjectUsages
from placement.policies.enforcement import Policy as Policy
from placement.policies.enforcement import enforcer
from placement.policies.enforcement import why_unusable as why_unusable
from placement.searching import LazySearch
from placement.storage.database.causes import RACE
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.driver.failures import CAUSES
from placement.storage.feed.feed_watch import FeedWatch
from placement.storage.schema import readiness

if TYPE_CHECKING:
    from placement.candidates.live.live_snapshot import LiveSnapshot
    from placement.candidates.live.live_snapshot import Preloaded as Preloaded
    from placement.candidates.live.table_snapshot import TableSnapshot
    from placement.metrics.meter import Meter
    from placement.search_parts import SearchParts

LOG = logging.getLogger(__name__)

#: what Berth adds to OpenStack Placement, one folder a feature, in the order of discovery
EXTENSIONS = tuple(
    Feature(f"placement.extensions.{name}")
    for name in (
        "discovery",
        "provider_trees",
        "allocations_query",
        "provider_tree_changes",
        "claims",
        "explain",
        "capacity",
        "evacuation",
        "plans",
        "survives",
        "changes",
        "suspects",
        "empty_searches",
        "names",
        "openapi",
    )
)
#: the pages of metrics
MONITORING = Feature("placement.extensions.monitoring")


def api(
    extensions: bool = True, with_metrics: bool = False, features: Sequence[Feature] = EXTENSIONS
) -> Api:
    """Return what a service answers that offers the extensions, or doesn't.

    :param with_metrics: whether callers with a token may read metrics
    :param features: the extensions
    """
    return Api((*(features if extensions else ()), *([MONITORING] if with_metrics else [])))


def list_rules() -> list[RuleDefault]:
    """Return the defaults of all policy rules; the entry point in `oslo.policy.policies`."""
    return api(with_metrics=True).rules


def get_enforcer() -> Enforcer:
    """Return an enforcer with the deployed rules; the entry point for oslo.policy's commands."""
    return enforcer(list_rules())


@dataclasses.dataclass(frozen=True)
class Running:
    """A started service and the parts that must be closed.

    :param pages: the pages of metrics by path, for whoever may read them
    :param counting: where it counts; None: it doesn't
    """

    application: WSGIApplication
    database: Database
    searching: LazySearch
    watch: FeedWatch
    pages: Mapping[str, WSGIApplication]
    counting: Counting | None = None

    @property
    def snapshot(self) -> "LiveSnapshot":
        """What searches search."""
        return self.searching.parts.snapshot

    def close(self) -> None:
        """End threads, close the connections to the database; a later request opens new ones.

        What later requests do isn't in the metrics.
        """
        self.watch.close()
        self.searching.rest()
        if self.counting is not None:
            self.counting.close()
        self.database.close()


def create_app(
    conf: cfg.ConfigOpts,
    wait: bool = True,
    policy: Policy | None = None,
    counting: Counting | None = None,
    preloaded: "Preloaded | None" = None,
) -> WSGIApplication:
    """Return the service as a WSGI application; see `start` for parameters and errors."""
    return start(conf, True, wait, policy, counting, preloaded).application


def preload(conf: cfg.ConfigOpts) -> "Preloaded":
    """Load the snapshot of the cloud for the processes that will be forked from this one.

    Leaves no connection to the database. Raises SchemaDiffers or DatabaseUnusable if the database
    can't be used, DatabaseUnavailable if it can't be reached.
    """
    # all that workers import when they search is shared as well
    import_all()
    from placement.candidates.live.live_snapshot import LiveSnapshot

    database = open_database(conf, wait=False)
    try:
        others = OtherWriters(conf.berth.beside_reference)
        interval = conf.berth.snapshot_audit_interval
        return LiveSnapshot(database, interval, others, watch=lambda live: None).preloaded()
    finally:
        database.close()


def metrics_layout() -> SeriesLayout:
    """Return the layout of what the workers of a service count; it is the same in all of them."""
    counted = [*api(with_metrics=True).routes, HEALTHCHECK, HEALTH, page_serving.PAGE]
    paths = map(template_of, counted)
    causes = sorted({*CAUSES, RACE})
    return SeriesLayout(families(paths, codes_of(Conflict), causes))


def start(
    conf: cfg.ConfigOpts,
    store_standard_names: bool = True,
    wait: bool = True,
    policy: Policy | None = None,
    counting: Counting | None = None,
    preloaded: "Preloaded | None" = None,
    features: Sequence[Feature] = EXTENSIONS,
) -> Running:
    """Start the service from its configuration, for callers that also close it.

    Brings the schema up to date if `[placement_database]sync_on_startup` is set. Raises
    SchemaDiffers or DatabaseUnusable if the database can't be used.

    :param store_standard_names: whether to store missing standard resource classes and traits
    :param wait: whether to wait for an unreachable database, as long as `max_retries` and
        `retry_interval` say. If not, the service starts without the database, and requests get 503
        until the database can be reached
    :param policy: the policy, if it was loaded already
    :param counting: where it counts what it does, which is closed with the service; None: it
        doesn't, and has no metrics
    :param preloaded: the snapshot that the parent process has loaded; None: the first search does
    :param features: what it offers beyond OpenStack Placement, if `[berth]extensions` is set
    """
    if counting is not None and counting.listener is None and conf.berth.metrics == OFF:
        # nobody could read it
        counting.close()
        counting = None
    tally: Tally = UNCOUNTED if counting is None else counting.meter
    with contextlib.ExitStack() as after_failure:
        if counting is not None:
            after_failure.callback(counting.close)
        policy = policy or Policy(conf, api(True, True, features).rules)
        database = open_database(conf, store_standard_names, wait, tally)
        after_failure.callback(database.close)
        running = _started(conf, database, policy, tally, counting, preloaded, features)
        after_failure.pop_all()
    return running


def _started(
    conf: cfg.ConfigOpts,
    database: Database,
    policy: Policy,
    tally: Tally,
    counting: Counting | None,
    preloaded: "Preloaded | None",
    features: Sequence[Feature],
) -> Running:
    """Make the parts of a service and connect them."""
    if counting is not None:
        counting.meter.observe(database.kept.counts)
    others = OtherWriters(conf.berth.beside_reference)
    others_in_feed = OthersInFeed(others)
    asked = DatabaseLists(database)

    def make_parts() -> "SearchParts":
        # imported here because a service that idles needs none of them
        from placement.search_parts import made

        return made(conf, database, others, others_in_feed, asked, tally, counting, preloaded)

    searching = LazySearch(make_parts, asked)
    watch = FeedWatch(database)
    pages = {} if counting is None else {path: searching.page(path) for path in MONITORING.routes()}
    if counting is not None and counting.listener is not None:
        port.serve(counting.listener, pages)
    described = api(conf.berth.extensions, features=features)
    services = Services(
        conf=conf,
        database=database,
        policy=policy,
        snapshot=searching,
        claims=searching,
        watch=watch,
        empty_searches=EmptySearches(
            memory=lambda: None if counting is None else counting.meter.empty_hour
        ),
        usages=ProjectUsages(database, others_in_feed, conf.berth.snapshot_audit_interval),
        lists=searching,
        suspects=searching,
        offers=described.offers,
        others=others_in_feed,
        pages=pages,
        # from /berth/v1/openapi.json, two folders up: also below a mount point
        described=Texts(described, server="../..").of,
        moves=moves_that_help,
        empty_hour=lambda: None if counting is None else counting.empty_hour(),
        names=NamesFile(conf.berth.names_file).text,
    )
    needs_token = bool(pages) and conf.berth.metrics == TOKEN
    answered = api(conf.berth.extensions, needs_token, features)
    application: WSGIApplication = Placement(answered.routes, services)
    application = StatementCounting(application, database)
    health = Health(database, searching)
    meter = None if counting is None else counting.meter

    def outermost(application: WSGIApplication) -> WSGIApplication:
        if conf.berth.server_timing:
            application = ServerTiming(application)
        return traced(with_probes(application, conf, health, pages, meter), conf)

    wrapping = wrapped(application, conf, outermost, meter)
    return Running(wrapping, database, searching, watch, pages, counting)


def import_all() -> None:
    """Import what is otherwise imported when a request first needs it."""
    import placement.search_parts  # noqa: F401

    for endpoints in api(with_metrics=True).routes.values():
        for endpoint in endpoints:
            endpoint.handler  # noqa: B018


def with_probes(
    application: WSGIApplication,
    conf: cfg.ConfigOpts,
    health: Health,
    pages: Mapping[str, WSGIApplication],
    meter: "Meter | None",
) -> WSGIApplication:
    """Answer what needs no token before the application does: probes, neighbours, the page.

    Raises cfg.Error if the options of `[healthcheck]` or the addresses of neighbours can't be used.
    """
    probes = {HEALTHCHECK: healthcheck(application, conf)}
    if conf.berth.extensions:
        probes[HEALTH] = health_answers(lambda: _report(health))
        if conf.berth.ui:
            probes |= page_serving.page(conf)
    neighbours = networks(conf.berth.metrics_allowed_source_ranges)
    if conf.berth.metrics == ADDRESSES:
        probes |= {path: Neighbours(shown, neighbours) for path, shown in pages.items()}
    if meter is not None:
        probes = {path: Metered(probe, meter) for path, probe in probes.items()}
    return Probes(application, probes)


def _report(health: Health) -> tuple[str, dict[str, object]]:
    status, checks = health.report()
    return status, document(status, checks, our_version())


@dataclasses.dataclass(frozen=True)
class Reading:
    """A service that only reads, and the parts that its user needs.

    `snapshot` keeps the cloud as the first search has read it, until its method `forget` is called.
    """

    application: WSGIApplication
    database: Database
    snapshot: "TableSnapshot"

    def close(self) -> None:
        """Close the connections to the database."""
        self.database.close()


def start_reading(conf: cfg.ConfigOpts, extensions: bool = False) -> Reading:
    """Start a service that never writes: for GET requests of this process's own.

    It needs no schema of Berth's: a database that only OpenStack Placement has used is read as it
    is. Nothing is stored at the start. Raises SchemaDiffers, DatabaseUnusable or SQLAlchemy's
    OperationalError if the database can't be used.

    :param extensions: whether it offers the extensions that only read the cloud
    """
    # imported here because a service that idles needs none of them
    from placement.candidates.live.table_snapshot import TableSnapshot
    from placement.extensions.claims.claim_lines import ClaimLines
    from placement.extensions.suspects.operation import Suspects
    from placement.operations.provider_lists import ProviderLists

    policy = Policy(conf, list_rules())
    database = Database(DatabaseSettings.of(conf.placement_database), read_only=True)
    try:
        readiness.check_readable(database)
    except BaseException:
        database.close()
        raise
    snapshot = TableSnapshot(database)
    # whoever writes, the database is asked
    beside = OthersInFeed(OtherWriters(ALWAYS))
    services = Services(
        conf=conf,
        database=database,
        policy=policy,
        snapshot=snapshot,
        claims=ClaimLines(),
        watch=FeedWatch(database),
        empty_searches=SilentLog(),
        usages=ProjectUsages(database, beside),
        lists=ProviderLists(database, beside, DatabaseLists(database)),
        suspects=Suspects.configured(conf, database, snapshot.current),
    )
    application: WSGIApplication = Placement(api(extensions).routes, services)
    application = StatementCounting(application, database)
    return Reading(wrapped(application, conf), database, snapshot)


def open_database(
    conf: cfg.ConfigOpts,
    store_standard_names: bool = True,
    wait: bool = True,
    tally: Tally = UNCOUNTED,
) -> Database:
    """Return the configured database, ready for use. Raises SchemaDiffers or DatabaseUnusable.

    Without `wait`, an unreachable database is prepared later, by the first transaction that
    reaches it. For the other parameters see `start`.
    """
    options = conf.placement_database
    if options.slave_connection:
        LOG.info("[placement_database]slave_connection isn't used: replicas may be outdated.")
    database = Database(DatabaseSettings.of(options), tally=tally, timed=conf.berth.server_timing)
    prepare = readiness.make_ready if wait else readiness.make_ready_when_there
    try:
        prepare(database, options.sync_on_startup, store_standard_names)
    except BaseException:
        database.close()
        raise
    return database


def wrapped(
    application: WSGIApplication,
    conf: cfg.ConfigOpts,
    outermost: Callable[[WSGIApplication], WSGIApplication] = lambda application: application,
    meter: "Meter | None" = None,
) -> WSGIApplication:
    """Wrap the application in its middleware, innermost first (rest-api.md 1.11).

    :param outermost: wraps it in what is around the middleware of standard requests
    :param meter: counts the requests that no part of `outermost` answers; None: nobody does
    """
    application = FaultWrapper(application)
    open_paths = ("", *OPEN_PATHS) if conf.berth.extensions else ("", "/")
    application = Identification(application, open_paths)
    # a second fault wrapper, because authentication may fail unexpectedly, too
    application = FaultWrapper(authenticated(application, conf, open_paths))
    if conf.cors.allowed_origin:
        application = cors.CORS(application, conf)
    application = RequestLog(application, conf.berth.log_request_cost, meter)
    if conf.oslo_middleware.enable_proxy_headers_parsing:
        application = http_proxy_to_wsgi.HTTPProxyToWSGI(application, conf)
    # outermost, so that a trace has the time of all middleware
    return profiled(outermost(application), conf)
