"""The factory that other programs embed the service by (rest-api.md 7.5)."""

from oslo_config import cfg

from placement.app import create_app
from placement.http.environ import WSGIApplication


def loadapp(config: cfg.ConfigOpts, project_name: str | None = None) -> WSGIApplication:
    """The service as a WSGI application, from a configuration that is ready.

    Initialises policy, then brings the schema up to date if `[placement_database]sync_on_startup`
    says so, then stores the standard traits and resource classes.

    :param project_name: ignored; there for callers of OpenStack Placement's factory
    """
    return create_app(config)
