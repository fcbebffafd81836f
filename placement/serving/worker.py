"""gunicorn's worker that serves with waitress: processes are the one's, connections the other's."""

import logging
import os
import resource
import time
from typing import Any

from gunicorn.workers.base import Worker

from placement.serving.front import Front

#: connections of a worker at most, if the system allows so many open files
MOST_CONNECTIONS = 10_000
#: open files of a connection: itself, its request's body, its answer
FILES_EACH = 3
#: open files that aren't connections: the database's, logs
OTHER_FILES = 200


class FrontWorker(Worker):
    """Serves the application that gunicorn's `app` has loaded.

    The app's `client_timeout` (seconds), `longest_body` and `most_held` (bytes) bound what clients
    may do.
    """

    def run(self) -> None:
        """Serve until told to stop, then finish what has begun."""
        # waitress warns of each request that waits
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        front = Front(
            self.wsgi,
            [listener.sock for listener in self.sockets],
            wake_up=self.PIPE[0],
            threads=self.cfg.threads,
            connections=most_connections(),
            client_timeout=self.app.client_timeout,
            longest_body=self.app.longest_body,
            most_held=self.app.most_held,
        )
        while self.alive and self.ppid == os.getppid():
            self.notify()
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
    """How many connections the system lets this process have; raises its limit of open files."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    allowed = MOST_CONNECTIONS
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, max(50, (hard - OTHER_FILES) // FILES_EACH))
    return allowed
