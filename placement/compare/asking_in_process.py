"""Ask a WSGI application in this process."""

import sys
import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Any
from urllib.parse import unquote_to_bytes

from placement.compare.answers import ReceivedAnswer
from placement.compare.request import METHOD, Request, joined


class WSGIService:
    """A WSGI application in this process.

    :param headers: of each request, beside its own
    :param renew: makes the application forget what it keeps
    """

    def __init__(
        self,
        name: str,
        application: Callable[..., Any],
        mount: str = "",
        headers: Mapping[str, str] | None = None,
        renew: Callable[[], object] | None = None,
    ) -> None:
        self.name = name
        self.mount = mount
        self._application = application
        self._headers = headers or {}
        self._renew = renew

    def ask(self, request: Request) -> ReceivedAnswer:
        """Call the application."""
        started: list[tuple[str, list[tuple[str, str]], str]] = []

        def start(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> object:
            # a server tells the date now, too, however long the work took
            started[:] = [(status, headers, formatdate(time.time(), usegmt=True))]
            return started.append

        body = self._application(self._environ(request), start)
        try:
            text = b"".join(body)
        finally:
            if hasattr(body, "close"):
                body.close()
        status, headers, date = started[0]
        return ReceivedAnswer(
            int(status.split(" ", 1)[0]), {"date": date} | dict(joined(headers)), text
        )

    def renew(self) -> None:
        """Make the application forget what it keeps."""
        if self._renew is not None:
            self._renew()

    def _environ(self, request: Request) -> dict[str, object]:
        path, _, query = request.path.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": METHOD,
            "SCRIPT_NAME": self.mount,
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": _Nothing(),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        headers = request.headers_beside({"Accept": "application/json", **self._headers})
        for name, value in headers.items():
            key = name.upper().replace("-", "_")
            environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
        return environ


class _Nothing:
    """The body of a request that has none."""

    def read(self, size: int = -1) -> bytes:
        """Return nothing."""
        return b""

    def readline(self, size: int = -1) -> bytes:
        """Return nothing."""
        return b""
