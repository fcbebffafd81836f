"""Entry points for WSGI servers (rest-api.md 7.5)."""

from oslo_log import log as oslo_log

from placement import config
from placement.app import create_app
from placement.http.environ import WSGIApplication


def init_application() -> WSGIApplication:
    """The service from environment and files alone, with its logging set up."""
    conf = config.load(files=config.files_for_wsgi())
    oslo_log.setup(conf, config.PROJECT)
    return create_app(conf)
