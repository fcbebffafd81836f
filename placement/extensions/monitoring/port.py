"""A port for metrics alone, served by a thread of every worker.

The parent of the workers opens it, so it stays open while workers are replaced. Only this machine
reaches it.
"""

import contextlib
import io
import logging
import os
import socket
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse

from placement.extensions.monitoring import plain_text
from placement.extensions.monitoring.access import Neighbours
from placement.http.environ import Environ, WSGIApplication

#: what a server of the standard library calls a connection
Socket = socket.socket | tuple[bytes, socket.socket]

LOG = logging.getLogger(__name__)

HOST = "127.0.0.1"
#: seconds that a client may take to send its request, and to read each part of the answer
PATIENCE = 3.0
#: key of a function; an application calls it to say whether its answer is only a part
PARTIAL = "berth.partial"
#: names the descriptor of the open port to the program that replaces this one
VARIABLE = "BERTH_METRICS_FD"


def listen(port: int, environ: MutableMapping[str, str] = os.environ) -> socket.socket:
    """Return the open port, or that of the program that this one replaces.

    Raises OSError if the port can't be opened.
    """
    handed = environ.get(VARIABLE)
    if handed and "GUNICORN_FD" in environ:
        listener = socket.socket(fileno=int(handed))
    else:
        listener = socket.create_server((HOST, port))
    # several workers wait for the same client, and all but one find nothing
    listener.setblocking(False)
    listener.set_inheritable(True)
    environ[VARIABLE] = str(listener.fileno())
    return listener


def serve(listener: socket.socket, pages: Mapping[str, WSGIApplication]) -> threading.Thread:
    """Serve the pages on a thread of this process, until it ends or the port is closed."""
    server = _Server((HOST, 0), _Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.server_name, server.server_port = HOST, listener.getsockname()[1]
    server.setup_environ()
    server.set_app(_pages(pages))
    thread = threading.Thread(target=_serve, args=(server,), name="metrics", daemon=True)
    thread.start()
    return thread


def _serve(server: "_Server") -> None:
    with contextlib.suppress(_PortClosed):
        server.serve_forever()


def _pages(pages: Mapping[str, WSGIApplication]) -> WSGIApplication:
    allowed = {path: Neighbours(page, None) for path, page in pages.items()}

    def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        page = allowed.get(environ["PATH_INFO"])
        if page is not None:
            return _logged(page, environ, start_response)
        here = f"Here are {' and '.join(allowed)} only.\n"
        return plain_text.answer(environ, start_response, "404 Not Found", here)

    return answer


def _logged(
    page: WSGIApplication, environ: Environ, start_response: StartResponse
) -> Iterator[bytes]:
    # first, so that the connection is reset whatever ends the process, also SIGKILL
    environ[PARTIAL](True)
    has_begun = False
    try:
        for piece in page(environ, start_response):
            yield piece
            has_begun = True
    except Exception:
        LOG.exception("%s failed", environ["PATH_INFO"])
        environ[PARTIAL](has_begun)
        raise
    environ[PARTIAL](False)


class _PortClosed(Exception):
    """Nobody can come any more."""


class _Server(WSGIServer):
    """Serves one request at a time; errors of a client's connection end nothing else."""

    def service_actions(self) -> None:
        """End when the port is closed: a closed one always looks as if somebody came."""
        if self.socket.fileno() < 0:
            raise _PortClosed

    def handle_error(self, request: Socket, client_address: object) -> None:
        """Say nothing: the client left, or was too slow."""

    def shutdown_request(self, request: Socket) -> None:
        """Close the connection as it is: an end of its own would make a part look complete."""
        self.close_request(request)


class _Handler(WSGIRequestHandler):
    """Without a log, and with a time limit."""

    timeout = PATIENCE

    def get_environ(self) -> Environ:
        """Return the environment, with a function that says whether the answer is a part."""
        return {**super().get_environ(), PARTIAL: self._reset_at_close}

    def _reset_at_close(self, wanted: bool) -> None:
        """Choose whether closing the connection resets it.

        The pages have no length, so a client takes an ordinary end of the connection for the end of
        the page.
        """
        linger = struct.pack("ii", wanted, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def get_stderr(self) -> io.StringIO:
        """Return where nobody reads: it would get a traceback for each client that is too slow."""
        return io.StringIO()
