"""The gunicorn worker: gunicorn manages its process, waitress its connections and threads."""

import math
import os
import resource
import time
from typing import Any

from gunicorn.workers.base import Worker

from placement.serving.front import INTERVAL, Front

#: maximum number of connections of a worker; fewer if the limit of open files is low
MOST_CONNECTIONS = 10_000
#: open files for each connection: its socket, the request's body, the response
FILES_EACH = 3
#: open files for everything else, such as database connections and logs
OTHER_FILES = 200


class FrontWorker(Worker):
    """Worker that serves the application of gunicorn's `app`.

    The app has the limits for clients: `client_timeout` (seconds), `longest_body` and `most_held`
    (bytes), and `measured`; see :class:`~placement.serving.front.Front`.
    """

    def run(self) -> None:
        """Serve until gunicorn stops the worker, then finish the requests in progress."""
        front = Front(
            self.wsgi,
            [listener.sock for listener in self.sockets],
            wake_up=self.PIPE[0],
            threads=self.cfg.threads,
            connections=most_connections(),
            client_timeout=self.app.client_timeout,
            longest_body=self.app.longest_body,
            most_held=self.app.most_held,
            measured=self.app.measured,
        )
        told = -math.inf
        while self.alive and self.ppid == os.getppid():
            # each time is a system call, and a busy worker turns thousands of times a second
            if time.monotonic() - told >= INTERVAL:
                self.notify()
                told = time.monotonic()
            front.turn()
        self._finish(front)

    def _finish(self, front: Any) -> None:
        front.stop_accepting()
        end = time.monotonic() + self.cfg.graceful_timeout
        while not front.has_finished() and time.monotonic() < end:
            self.notify()
            front.turn(0.1)
        front.close()


def most_connections() -> int:
    """Raise the limit of open files; return the number of connections that it allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    allowed = MOST_CONNECTIONS
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, max(50, (hard - OTHER_FILES) // FILES_EACH))
    return allowed
