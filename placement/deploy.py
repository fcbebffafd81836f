"""The factory for programs that embed the service (rest-api.md 7.5)."""

import os

from oslo_config import cfg

from placement.app import create_app, metrics_layout
from placement.extensions.monitoring.counting import Counting
from placement.http.environ import WSGIApplication


def loadapp(config: cfg.ConfigOpts, project_name: str | None = None) -> WSGIApplication:
    """Return the service as a WSGI application.

    Initialises policy, brings the schema up to date if `[placement_database]sync_on_startup` is
    set, and stores the standard traits and resource classes. Raises SchemaDiffers or
    DatabaseUnusable.

    :param config: a configuration whose options are registered and whose files are read
    :param project_name: ignored; accepted because OpenStack Placement's factory has it
    """
    return create_app(config, counting=Counting.under_other_servers(metrics_layout(), os.environ))
