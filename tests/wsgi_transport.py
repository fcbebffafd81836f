"""A transport of requests that calls a WSGI application: no socket, no patch of a library."""

import contextlib
import functools
import io
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
import requests
from keystoneauth1.adapter import Adapter
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers
from urllib3 import HTTPResponse

from placement import direct


class WSGITransport(BaseAdapter):
    """Hands requests to an application.

    :param mount: the path where it is; below it are all paths that are asked for
    """

    def __init__(self, app: Callable[..., Any], mount: str = "") -> None:
        super().__init__()
        self.app = app
        self._mount = mount

    def send(self, request: requests.PreparedRequest, *given: Any, **named: Any) -> Any:
        """Answer the request; limits of time are ignored, as the answer comes in this thread."""
        started: list[Any] = []

        def start_response(*answer: Any) -> None:
            started[:] = answer

        chunks = self.app(self._environ(request), start_response)
        try:
            body = b"".join(chunks)
        finally:
            getattr(chunks, "close", lambda: None)()
        response = requests.Response()
        code, _, response.reason = started[0].partition(" ")
        response.status_code = int(code)
        response.headers.update(started[1])
        response.encoding = get_encoding_from_headers(response.headers)
        response.url, response.request = request.url, request  # type: ignore[assignment]
        response.raw = HTTPResponse(io.BytesIO(body), dict(started[1]), preload_content=False)
        return response

    def _environ(self, request: requests.PreparedRequest) -> dict[str, Any]:
        url = urlsplit(str(request.url))
        body = request.body or b""
        body = body.encode() if isinstance(body, str) else body
        environ: dict[str, Any] = {
            "REQUEST_METHOD": request.method,
            "SCRIPT_NAME": self._mount,
            "PATH_INFO": unquote_to_bytes(url.path.removeprefix(self._mount)).decode("latin-1"),
            "QUERY_STRING": url.query,
            "HTTP_HOST": url.netloc,
            "SERVER_NAME": url.hostname,
            "SERVER_PORT": str(url.port or 80),
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": url.scheme,
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in request.headers.items():
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            name = name.upper().replace("-", "_")
            plain = name in ("CONTENT_TYPE", "CONTENT_LENGTH")
            environ[name if plain else f"HTTP_{name}"] = text
        return environ

    def close(self) -> None:
        """Do nothing: there is no connection."""


@contextlib.contextmanager
def answering(app: Callable[..., Any]) -> Iterator[None]:
    """Have all requests that any session of `requests` sends in this block answered by `app`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HTTPAdapter, "send", WSGITransport(app).send)
        yield


class _Direct(WSGITransport):
    """What `PlacementDirect` sends its requests with."""

    def __init__(self, service: Any) -> None:
        super().__init__(lambda *given: service.application()(*given), direct.MOUNT)


#: a URL that requests sends as it is: it would quote others, or take parts away
_PLAIN = re.compile(r"(?:[\w:?&=,%+~!-]|/(?!\.)|\.)+", re.ASCII)
#: what keystoneauth1 says of a request to a service in this process, or what doesn't matter there
_KNOWN = {"headers", "data", "verify", "cert", "timeout", "allow_redirects"}


def _send(http: requests.Session, method: str, url: str, **named: Any) -> requests.Response:
    """Do as `http.request` does for a request of keystoneauth1, without most of what it does."""
    body = named.get("data") or None
    is_known = named.keys() <= _KNOWN and isinstance(body, str | None)
    if http.hooks["response"] or not (is_known and _PLAIN.fullmatch(url)):
        return requests.Session.request(http, method, url, **named)
    request = requests.PreparedRequest()
    request.method, request.url = method.upper(), url
    request.headers = CaseInsensitiveDict({**http.headers, **named["headers"]})
    request.body = body.encode() if body else body
    if body or request.method not in ("GET", "HEAD"):
        request.headers["Content-Length"] = str(len(request.body or b""))
    return http.get_adapter(url).send(request)


@contextlib.contextmanager
def direct_services_called() -> Iterator[None]:
    """Have each PlacementDirect that is opened in this block call its service like this.

    Its own transport reads and writes each request and answer as HTTP, through three libraries,
    which takes as long as a short request. Its own tests have that one.
    """
    plain_enter = direct.PlacementDirect.__enter__

    def enter(service: direct.PlacementDirect) -> Adapter:
        adapter = plain_enter(service)
        http = adapter.session.session
        http.request = functools.partial(_send, http)
        return adapter

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct, "_Transport", _Direct)
        patch.setattr(direct.PlacementDirect, "__enter__", enter)
        yield
