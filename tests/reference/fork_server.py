"""Starts placement services quickly: imports the service once, then forks it for each command.

Run this with the interpreter of the environment whose placement is to be served, Berth or the
reference, with gunicorn. Input and output are JSON lines. `{"environ": {...}, "log": path}`
replaces the running service; the output is `{"port": p}`. `null` and the end of the input stop it.
The services end with this process, however it ends: they are in process groups of their own, which
a signal to the group of the tests doesn't reach.
Only the standard library and gunicorn may be imported here besides placement.
"""

import contextlib
import ctypes
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

with contextlib.suppress(ImportError):
    # of Berth: it imports most of itself when that is first needed
    from placement.app import import_all

    import_all()

#: option of prctl: the signal that this process gets when its parent ends
PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; end now if it has ended already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class Server(gunicorn.app.base.BaseApplication):
    """Gunicorn with one worker on an existing listening socket."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        super().__init__()

    def load_config(self) -> None:
        """Set what the command line would set."""
        self.cfg.set("bind", f"fd://{self.listener.fileno()}")
        self.cfg.set("loglevel", "error")
        self.cfg.set("control_socket_disable", True)
        # a worker's own look whether its master lives comes late
        self.cfg.set("post_fork", lambda master, worker: end_with(master.pid))

    def load(self) -> Callable[..., Any]:
        """Load the application from the environment of this process."""
        return placement.wsgi.init_application()


def serve(listener: socket.socket, environ: dict[str, str], log: str) -> None:
    """Serve until killed."""
    with open(log, "ab") as sink:
        os.dup2(sink.fileno(), sys.stdout.fileno())
        os.dup2(sink.fileno(), sys.stderr.fileno())
    os.environ.update(environ)
    listener.set_inheritable(True)
    Server(listener).run()


def start(environ: dict[str, str], log: str) -> tuple[int, int]:
    """Fork a service; return its process id and its port, which accepts requests at once."""
    parent = os.getpid()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = os.fork()
        if not child:
            try:
                end_with(parent)
                os.setpgid(0, 0)
                serve(listener, environ, log)
            finally:
                os._exit(1)
        # the child does the same; whichever is first, the process group exists before it may be
        # killed
        with contextlib.suppress(PermissionError):
            os.setpgid(child, child)
        return child, listener.getsockname()[1]


def stop(child: int | None) -> None:
    """Kill a service with its workers; its database is discarded anyway."""
    if child is not None:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)


def main() -> None:
    """Execute the commands."""
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
