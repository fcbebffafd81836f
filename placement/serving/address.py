"""Whether a server can listen at an address, found before it starts."""

import errno
import os
import socket
import time

#: seconds to wait for a server that is about to stop and still has the address
PATIENCE = 5.0
_PAUSE = 0.25


def why_unusable(host: str, port: int) -> str | None:
    """Return why this process can't listen on `host` and `port`, or None if it can."""
    # systemd, or the gunicorn that this one replaces, hands over a socket that listens already
    if "LISTEN_FDS" in os.environ or "GUNICORN_FD" in os.environ:
        return None
    end = time.monotonic() + PATIENCE
    while True:
        error = _error_of(host, port)
        if error is None:
            return None
        if error.errno != errno.EADDRINUSE or time.monotonic() >= end:
            return (
                f"can't serve on {host} port {port}: {error.strerror}. Choose another --host or "
                "--port, or stop the program that has it."
            )
        time.sleep(_PAUSE)


def _error_of(host: str, port: int) -> OSError | None:
    """Return the error of taking the address for a moment; it never accepts a client."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
    except OSError as error:
        return error
    return None
