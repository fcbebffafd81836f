"""Placement on a port of its own, as a service that runs beside the commands."""

import contextlib
import threading

from werkzeug.serving import WSGIRequestHandler, make_server

from placement import config
from placement.app import start


class Quiet(WSGIRequestHandler):
    def log(self, *args):
        """Nothing: pytest shows what matters."""


@contextlib.contextmanager
def serving(database_url, roles):
    """The URL of the service; whoever comes with the token `admin` has these roles."""
    overrides = {
        ("placement_database", "connection"): database_url,
        ("placement_database", "sync_on_startup"): True,
        ("api", "auth_strategy"): "noauth2",
        ("berth", "noauth2_admin_roles"): roles,
    }
    running = start(config.load(files=[], environ=False, overrides=overrides))
    server = make_server("127.0.0.1", 0, running.application, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        running.close()


def described(url):
    """Group [placement] of a configuration file."""
    return f"[placement]\nauth_type = admin_token\nendpoint = {url}\ntoken = admin\n"
