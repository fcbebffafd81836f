"""Starts placement services quickly: imports the service once, then forks one per command.

Run by the interpreter of the environment whose placement is wanted, ours or the reference's, which
must have gunicorn. It speaks JSON lines: `{"environ": {...}, "log": path}` is answered with
`{"port": p}` and replaces the service that ran before; `null` stops it, and so does the end of
the input. Only the standard library and gunicorn may be imported here besides placement.
"""

import contextlib
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import gunicorn.app.base

import placement.wsgi


class Server(gunicorn.app.base.BaseApplication):
    """Gunicorn with one worker on a socket that is already listening."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        super().__init__()

    def load_config(self) -> None:
        """Set what the command line would."""
        self.cfg.set("bind", f"fd://{self.listener.fileno()}")
        self.cfg.set("loglevel", "error")
        self.cfg.set("control_socket_disable", True)

    def load(self) -> Callable[..., Any]:
        """Make the application from the environment of this process."""
        return placement.wsgi.init_application()


def serve(listener: socket.socket, environ: dict[str, str], log: str) -> None:
    """Be a service until killed."""
    with open(log, "ab") as sink:
        os.dup2(sink.fileno(), sys.stdout.fileno())
        os.dup2(sink.fileno(), sys.stderr.fileno())
    os.environ.update(environ)
    listener.set_inheritable(True)
    Server(listener).run()


def start(environ: dict[str, str], log: str) -> tuple[int, int]:
    """Fork a service and give its process id and port; requests may be sent at once."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = os.fork()
        if not child:
            try:
                os.setpgid(0, 0)
                serve(listener, environ, log)
            finally:
                os._exit(1)
        # the child does the same; whoever comes first, it has a process group to be killed by
        with contextlib.suppress(PermissionError):
            os.setpgid(child, child)
        return child, listener.getsockname()[1]


def stop(child: int | None) -> None:
    """Kill a service with its workers; its database is thrown away anyway."""
    if child is not None:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)


def main() -> None:
    """Obey the commands."""
    gc.freeze()
    child = None
    for line in sys.stdin:
        command = json.loads(line)
        stop(child)
        child, port = start(**command) if command else (None, None)
        print(json.dumps({"port": port}), flush=True)
    stop(child)


if __name__ == "__main__":
    main()
