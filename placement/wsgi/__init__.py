"""Entry points for WSGI servers (rest-api.md 7.5)."""

import gc
import logging
import os
from collections.abc import Mapping

from oslo_config import cfg
from werkzeug.middleware.profiler import ProfilerMiddleware

from placement import config
from placement.app import create_app
from placement.config import logs
from placement.http.environ import WSGIApplication

LOG = logging.getLogger(__name__)


def init_application() -> WSGIApplication:
    """The service from environment and files alone, with its logging set up."""
    conf = config.load(files=config.files_for_wsgi())
    logs.set_up(conf, config.PROJECT)
    return load(conf)


def load(
    conf: cfg.ConfigOpts, environ: Mapping[str, str] = os.environ, wait: bool = True
) -> WSGIApplication:
    """The service for a process that does nothing but serve, whose logging is set up.

    For `wait` see :func:`placement.app.start`. With `$OS_WSGI_PROFILER` each request's profile is
    written into that folder.
    """
    if conf.log_options:
        conf.log_opt_values(LOG, logging.DEBUG)
    application = create_app(conf, wait)
    settle()
    folder = environ.get("OS_WSGI_PROFILER")
    if not folder:
        return application
    os.makedirs(folder, exist_ok=True)
    return ProfilerMiddleware(application, stream=None, profile_dir=folder)


def settle() -> None:
    """Tell the garbage collector that what exists now stays.

    A request makes few cycles but, with a long answer, many objects; the collector would walk all
    of the service's own again and again meanwhile. For processes that do nothing but serve.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
