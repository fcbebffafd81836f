"""Placement on a port of its own, as a service that runs beside the commands."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

from werkzeug.serving import WSGIRequestHandler, make_server

from placement import app, config
from tests.service_settings import UNTIMED

REPOSITORY = pathlib.Path(__file__).parents[4]


class Quiet(WSGIRequestHandler):
    def log(self, *args):
        """Nothing: pytest shows what matters."""


@contextlib.contextmanager
def serving(database_url, roles, seen=None):
    """Give the URL of the service, which grants these roles to the token `admin`.

    :param seen: gets the environment of each request
    """
    overrides = {
        **UNTIMED,
        ("placement_database", "connection"): database_url,
        ("placement_database", "sync_on_startup"): True,
        ("api", "auth_strategy"): "noauth2",
        ("berth", "noauth2_admin_roles"): roles,
    }
    running = app.start(config.load(files=[], environ=False, overrides=overrides))

    def noting(environ, start_response):
        if seen is not None:
            seen.append(environ)
        return running.application(environ, start_response)

    server = make_server("127.0.0.1", 0, noting, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
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


class Killable:
    """A service in processes of their own: gunicorn replaces a worker that is killed."""

    def __init__(self, database_url, folder):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
        options = {
            "OS_PLACEMENT_DATABASE__CONNECTION": database_url,
            "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
            "OS_API__AUTH_STRATEGY": "noauth2",
            "OS_BERTH__NOAUTH2_ADMIN_ROLES": "admin,service",
        }
        # a new worker needs to import nothing
        settings = folder / "gunicorn.conf.py"
        settings.write_text("from placement.app import import_all\nimport_all()\n")
        with (folder / "service.log").open("w") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "gunicorn", "--workers", "1", "--log-level", "error"),
                    *("--config", str(settings), "--bind", f"fd://{self._listener.fileno()}"),
                    "placement.wsgi.api:application",
                ],
                cwd=REPOSITORY,
                env=inherited | options,
                pass_fds=[self._listener.fileno()],
                stdout=log,
                stderr=log,
            )

    def kill_a_worker(self):
        """Kill whichever worker there is just now; how many there were."""
        pid, killed = self._process.pid, 0
        for worker in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(worker), signal.SIGKILL)
                killed += 1
        return killed

    def stop(self):
        """End it and its workers."""
        self._process.terminate()
        self._process.wait()
        self._listener.close()
