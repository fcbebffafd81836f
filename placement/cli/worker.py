"""gunicorn's threaded worker, with an end to its patience.

The original waits without end for the rest of a request, on one of its few threads: as many slow
clients as there are threads would stop it.
"""

import contextlib
import socket
import struct
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker


class PatientWorker(ThreadWorker):
    """Stops listening to a client that takes longer than the server's `client_timeout` to send a
    request.

    What is being answered then is answered still: only more isn't read. A client that doesn't go
    on reading its answer for as long loses the connection.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        #: seconds
        self._client_timeout: float = self.app.client_timeout
        #: the connections on threads, with the time until which we listen
        self._listening: dict[Any, float] = {}

    def handle(self, conn: Any) -> Any:
        """On a thread of its own: read a request and answer it."""
        seconds = int(self._client_timeout)
        micro = int((self._client_timeout - seconds) * 1_000_000)
        # struct timeval; a blocking socket of Python's asks the system to keep the time
        limit = struct.pack("@ll", seconds, micro)
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self._listening[conn] = time.monotonic() + self._client_timeout
        try:
            return super().handle(conn)
        finally:
            self._listening.pop(conn, None)

    def murder_keepalived(self, *args: Any, **settings: Any) -> None:
        """Every second, in the main thread: end what has lasted too long."""
        super().murder_keepalived(*args, **settings)
        now = time.monotonic()
        for conn, end in list(self._listening.items()):
            if now > end:
                self._listening.pop(conn, None)
                with contextlib.suppress(OSError):
                    # the thread that reads finds the end of the request
                    conn.sock.shutdown(socket.SHUT_RD)
