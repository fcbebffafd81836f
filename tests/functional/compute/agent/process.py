"""`berth-compute` as a process of its own, and the placement service that it reports to."""

import os
import pathlib
import socket
import subprocess
import sys
import threading
from uuid import uuid4

from werkzeug.serving import WSGIRequestHandler, make_server

from compute.cli.berth_compute import main
from placement import config
from placement.app import start
from tests.functional.forked import PATIENCE, Forked
from tests.service_settings import UNTIMED

REPOSITORY = pathlib.Path(__file__).parents[4]


class Quiet(WSGIRequestHandler):
    def log(self, *args):
        """Nothing: pytest shows what matters."""


class Service:
    """Placement on a port of its own.

    `before`, if set, is called with method and path ahead of each request; if it returns True, the
    connection is cut instead of answered. With `conf` that is its whole configuration.
    """

    def __init__(self, database, conf=None):
        overrides = {
            **UNTIMED,
            ("placement_database", "connection"): database,
            ("api", "auth_strategy"): "noauth2",
            ("berth", "noauth2_admin_roles"): ["admin", "service"],
        }
        self.running = start(conf or config.load(files=[], environ={}, overrides=overrides))
        self.app = self.running.application
        self.before = None
        self.server = make_server("127.0.0.1", 0, self, threaded=True, request_handler=Quiet)
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def __call__(self, environ, start_response):
        if self.before and self.before(environ["REQUEST_METHOD"], environ["PATH_INFO"]):
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError
        return self.app(environ, start_response)

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        self.running.close()


class Agent:
    """The agent of one host, to be run as often as need be."""

    def __init__(self, folder, url):
        self.host = f"host-{uuid4()}"
        self.state = folder / "state"
        self.options = {
            "OS_DEFAULT__HOST": self.host,
            "OS_DEFAULT__STATE_PATH": str(self.state),
            "OS_DEFAULT__COMPUTE_DRIVER": "fake.MediumFakeDriver",
            "OS_PLACEMENT__AUTH_TYPE": "admin_token",
            "OS_PLACEMENT__ENDPOINT": url,
            "OS_PLACEMENT__TOKEN": "admin",
        }
        self.started = []

    @property
    def uuid(self):
        return (self.state / "compute_id").read_text()

    def launch(self, *arguments, **options):
        """Start it in a process that has imported all it needs."""
        process = Forked(main, arguments, self._environ(options), "--once" in arguments)
        self.started.append(process)
        return process

    def once(self, **options):
        """One update; answers the process, which has ended, and what was said on stderr."""
        process = self.launch("--once", **options)
        return process, process.communicate()[1]

    def program(self, *arguments, **options):
        """Start the program, for what imports and the interpreter's start and end may change."""
        process = subprocess.Popen(
            [sys.executable, "-m", "compute.cli.berth_compute", *arguments],
            env=self._environ(options),
            cwd=REPOSITORY,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(Watched(process))
        return process

    def _environ(self, options):
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
        given = {f"OS_{name.upper()}": value for name, value in options.items()}
        return {**inherited, **self.options, **given}

    def end(self):
        """Kill what runs."""
        for process in self.started:
            process.end()


class Watched:
    """A program that is killed if it doesn't end: a test that waits for it ends all the same."""

    def __init__(self, process):
        self._process = process
        self._watchdog = threading.Timer(PATIENCE, process.kill)
        self._watchdog.start()

    def end(self):
        """Kill it, if it lives."""
        self._watchdog.cancel()
        self._watchdog.join()
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()


def lines_until(process, wanted):
    """Return the lines of stderr up to the first that contains `wanted`."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        if wanted in line:
            return lines
    raise AssertionError(f"{wanted!r} was never said, but: {''.join(lines)}")
