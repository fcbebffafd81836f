"""The composition root: everything is made and joined here, nothing anywhere else."""

import dataclasses
import logging

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi

from placement.candidates.live import LiveSnapshot
from placement.http.authentication import authenticated
from placement.http.call import Services
from placement.http.context import Identification
from placement.http.dispatch import Placement
from placement.http.environ import WSGIApplication
from placement.http.fault import FaultWrapper
from placement.http.request_log import RequestLog, StatementCount
from placement.policies.enforcement import Policy
from placement.routes import ROUTES
from placement.storage import readiness
from placement.storage.engine import Database, DatabaseSettings

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Running:
    """A service at work."""

    application: WSGIApplication
    database: Database
    snapshot: LiveSnapshot

    def close(self) -> None:
        """Close its connections to the database; it opens new ones if it is asked again."""
        self.snapshot.rest()
        self.database.close()


def create_app(conf: cfg.ConfigOpts, wait: bool = True) -> WSGIApplication:
    """The service as a WSGI application, from its configuration alone; see `start`."""
    return start(conf, wait=wait).application


def start(conf: cfg.ConfigOpts, store_standard_names: bool = True, wait: bool = True) -> Running:
    """The service, from its configuration alone, for those who also end it.

    Brings the schema up to date if `[placement_database]sync_on_startup` says so, and stores the
    standard resource classes and traits unless told not to. Raises SchemaDiffers or
    DatabaseUnusable when the database can't be used.

    :param wait: whether to wait for a database that is away, as long as the options say. If not,
        the service starts without it, and requests are told so until it is there
    """
    policy = Policy(conf)
    database = open_database(conf, store_standard_names, wait)
    snapshot = LiveSnapshot(database, conf.berth.snapshot_audit_interval)
    application: WSGIApplication = Placement(ROUTES, Services(conf, database, policy, snapshot))
    application = StatementCount(application, database)
    return Running(wrapped(application, conf), database, snapshot)


def open_database(
    conf: cfg.ConfigOpts, store_standard_names: bool = True, wait: bool = True
) -> Database:
    """The configured database, ready for use. Raises SchemaDiffers or DatabaseUnusable.

    Without `wait`, a database that is away is made ready when it is there, by whoever is first to
    use it then.
    """
    options = conf.placement_database
    if options.slave_connection:
        LOG.info("[placement_database]slave_connection isn't used: replicas may be behind.")
    database = Database(DatabaseSettings.of(options))
    prepare = readiness.make_ready if wait else readiness.make_ready_when_there
    prepare(database, options.sync_on_startup, store_standard_names)
    return database


def wrapped(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """The application in its middleware, innermost first (rest-api.md 1.11)."""
    application = FaultWrapper(application)
    application = Identification(application)
    # and once more: authentication may fail unexpectedly, too
    application = FaultWrapper(authenticated(application, conf))
    if conf.cors.allowed_origin:
        application = cors.CORS(application, conf)
    application = RequestLog(application, conf.berth.log_request_cost)
    if conf.oslo_middleware.enable_proxy_headers_parsing:
        application = http_proxy_to_wsgi.HTTPProxyToWSGI(application, conf)
    return application
