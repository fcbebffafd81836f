"""Entry points for WSGI servers (rest-api.md 7.5)."""

import gc
import logging
import os
from collections.abc import Mapping

from oslo_config import cfg

from placement import config
from placement.app import Policy, create_app, metrics_layout
from placement.config import logs
from placement.http.environ import WSGIApplication
from placement.installation import refuse_shared_environment
from placement.monitoring.counting import Counting

LOG = logging.getLogger(__name__)


def init_application() -> WSGIApplication:
    """Read the configuration, set up logging, and return the service.

    :raises placement.installation.SharedEnvironment: another distribution has files among ours
    """
    refuse_shared_environment()
    conf = config.load()
    logs.set_up(conf, config.PROJECT)
    return load(conf, counting=Counting.under_other_servers(metrics_layout(), os.environ))


def load(
    conf: cfg.ConfigOpts,
    environ: Mapping[str, str] = os.environ,
    wait: bool = True,
    policy: Policy | None = None,
    counting: Counting | None = None,
) -> WSGIApplication:
    """Return the service, for a process that only serves and whose logging is set up.

    :param environ: its `OS_WSGI_PROFILER`, if set, names a directory for profiles of requests
    :param wait: see :func:`placement.app.start`
    :param policy: the policy, if it was loaded already
    :param counting: see :func:`placement.app.start`
    """
    if conf.log_options:
        conf.log_opt_values(LOG, logging.DEBUG)
    application = create_app(conf, wait, policy, counting)
    settle()
    folder = environ.get("OS_WSGI_PROFILER")
    if not folder:
        return application
    from werkzeug.middleware.profiler import ProfilerMiddleware

    os.makedirs(folder, exist_ok=True)
    return ProfilerMiddleware(application, stream=None, profile_dir=folder)


def settle() -> None:
    """Exclude all existing objects from garbage collection, in a process that only serves.

    A request creates few reference cycles, but many objects if its response is long. Each new
    collection would traverse all of the service's own objects again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
