"""Entry points for WSGI servers (rest-api.md 7.5)."""

import gc

from oslo_log import log as oslo_log

from placement import config
from placement.app import create_app
from placement.http.environ import WSGIApplication


def init_application() -> WSGIApplication:
    """The service from environment and files alone, with its logging set up."""
    conf = config.load(files=config.files_for_wsgi())
    oslo_log.setup(conf, config.PROJECT)
    application = create_app(conf)
    settle()
    return application


def settle() -> None:
    """Tell the garbage collector that what exists now stays.

    A request makes few cycles but, with a long answer, many objects; the collector would walk all
    of the service's own again and again meanwhile. For processes that do nothing but serve.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
