"""A WSGI application behind a real socket, and answers of it that were tampered with."""

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server


class _Quiet(WSGIRequestHandler):
    def log(self, *words: Any) -> None:
        """Log nothing: tests read what commands log."""


@contextlib.contextmanager
def served(application: Callable[..., Any], context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve an application on a free port of the loopback interface; yield its URL."""
    server = make_server(
        "127.0.0.1", 0, application, threaded=True, request_handler=_Quiet, ssl_context=context
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http{'s' if context else ''}://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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
