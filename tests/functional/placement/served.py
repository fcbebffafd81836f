"""A WSGI application behind a real socket, and answers of it that were tampered with."""

import contextlib
import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from tests.patience import PATIENCE

#: the servers of this process that run
_running: set["HangingUp"] = set()


class HangingUp(socketserver.ThreadingMixIn):
    """A server that ends its connections, and so their threads, when it is told to."""

    daemon_threads = True

    def __init__(self, *given: Any, **named: Any) -> None:
        self._connections: set[socket.socket] = set()
        self._changed = threading.Condition()
        super().__init__(*given, **named)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note the connection, and start its thread."""
        with self._changed:
            self._connections.add(request)
            self._changed.notify_all()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End the connection, and forget it."""
        super().shutdown_request(request)  # type: ignore[misc]
        with self._changed:
            self._connections.discard(request)
            self._changed.notify_all()

    def hang_up(self) -> None:
        """Answer what was asked, and listen to no client that keeps its connection."""
        with self._changed:
            # the threads that are left after that are named by those who look for leftovers
            self._changed.wait_for(self._has_hung_up, PATIENCE)

    def _has_hung_up(self) -> bool:
        for connection in self._connections:
            # the client may have ended it meanwhile; TLS may still answer
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RD)
        return not self._connections


@contextlib.contextmanager
def running(server: Any) -> Iterator[None]:
    """Let a server that hangs up run in a thread, until the block ends."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    _running.add(server)
    try:
        yield
    finally:
        _running.remove(server)
        server.shutdown()
        thread.join()
        server.hang_up()
        server.server_close()


def hang_up() -> None:
    """Let all servers that run hang up."""
    for server in _running:
        server.hang_up()


class _Server(HangingUp, ThreadedWSGIServer):
    pass


class _Quiet(WSGIRequestHandler):
    def log(self, *words: Any) -> None:
        """Log nothing: tests read what commands log."""


@contextlib.contextmanager
def served(
    application: Callable[..., Any], context: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[str]:
    """Serve an application on a port, or a free one, of the loopback interface; yield its URL."""
    server = _Server("127.0.0.1", port, application, _Quiet, ssl_context=context)
    with running(server):
        yield f"http{'s' if context else ''}://127.0.0.1:{server.port}"


class Recorded:
    """An application whose requests are recorded, as `(method, path with query, headers)`."""

    def __init__(self, application: Callable[..., Any]) -> None:
        self.application = application
        self.requests: list[tuple[str, str, dict[str, str]]] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        headers = {
            name[5:].replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        query = environ["QUERY_STRING"]
        path = environ["PATH_INFO"] + (f"?{query}" if query else "")
        self.requests.append((environ["REQUEST_METHOD"], path, headers))
        return self.application(environ, start_response)


class Tampered:
    """An application whose answers are changed.

    :param change: is given the path, the status, the headers and the body of an answer, as a JSON
        value if it is one, and returns those that are sent
    """

    def __init__(self, application: Callable[..., Any], change: Callable[..., Any]) -> None:
        self.application = application
        self.change = change

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        started: list[Any] = []
        body = b"".join(self.application(environ, lambda *answer: started.extend(answer)))
        status, headers = int(started[0].split()[0]), dict(started[1])
        with contextlib.suppress(ValueError):
            body = json.loads(body)
        status, headers, body = self.change(environ["PATH_INFO"], status, headers, body)
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        headers["Content-Length"] = str(len(body))
        start_response(f"{status} Some Reason", list(headers.items()))
        return [body]
