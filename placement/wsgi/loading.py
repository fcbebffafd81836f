"""Make the service in a process that only serves."""

import functools
import logging
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from oslo_config import cfg

from placement import config
from placement.app import Policy, create_app, import_all, metrics_layout
from placement.config import logs, misspelt
from placement.extensions.monitoring.counting import Counting
from placement.extensions.names.names_file import NamesFile
from placement.http.environ import WSGIApplication
from placement.installation import refuse_shared_environment
from placement.wsgi.collection import settle

if TYPE_CHECKING:
    from placement.app import Preloaded

LOG = logging.getLogger(__name__)


def configured() -> WSGIApplication:
    """Read the configuration, set up logging, and return the service.

    Raises SharedEnvironment if another distribution has files among ours.
    """
    refuse_shared_environment()
    conf = config.load()
    logs.set_up(conf, config.PROJECT)
    warn(conf)
    application = load(conf, counting=Counting.under_other_servers(metrics_layout(), os.environ))
    # a server may load the service before it forks its workers
    os.register_at_fork(before=share)
    uwsgi = sys.modules.get("uwsgi")
    if uwsgi is not None and "lazy-apps" not in uwsgi.opt:
        # it forks without telling Python
        share()
    return application


def warn(conf: cfg.ConfigOpts) -> None:
    """Log what serves nobody: options that nobody reads, a file of names that can't be used."""
    for sentence in misspelt.told(conf):
        LOG.warning("%s", sentence)
    NamesFile(conf.berth.names_file).text()


def load(
    conf: cfg.ConfigOpts,
    environ: Mapping[str, str] = os.environ,
    wait: bool = True,
    policy: Policy | None = None,
    counting: Counting | None = None,
    preloaded: "Preloaded | None" = None,
) -> WSGIApplication:
    """Return the service, for a process that only serves and whose logging is set up.

    :param environ: its `OS_WSGI_PROFILER`, if set, names a directory for profiles of requests
    :param wait: see :func:`placement.app.start`
    :param policy: the policy, if it was loaded already
    :param counting: see :func:`placement.app.start`
    :param preloaded: see :func:`placement.app.start`
    """
    if conf.log_options:
        conf.log_opt_values(LOG, logging.DEBUG)
    application = create_app(conf, wait, policy, counting, preloaded)
    settle()
    folder = environ.get("OS_WSGI_PROFILER")
    if not folder:
        return application
    from werkzeug.middleware.profiler import ProfilerMiddleware

    os.makedirs(folder, exist_ok=True)
    return ProfilerMiddleware(application, stream=None, profile_dir=folder)


@functools.cache
def share() -> None:
    """Import all code, once, before a process forks: its children have it in common."""
    import_all()
    settle()
