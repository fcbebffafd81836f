"""Ask a service over HTTP, at a pace.

Only GET requests are sent, without a body, and no redirection is followed.
"""

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

import urllib3

from placement.compare.answers import ReceivedAnswer
from placement.compare.request import METHOD, Request, joined

#: bytes that an answer may have
LONGEST_ANSWER = 256 * 1024 * 1024
UNAUTHORIZED = 401
_PIECE = 1024 * 1024


class UnusableURL(Exception):
    """A URL can't be used; the message says why and doesn't repeat it."""


class Unanswered(Exception):
    """A request got no answer.

    :param connected: whether the service was reached
    """

    def __init__(self, why: str, connected: bool) -> None:
        super().__init__(why)
        self.connected = connected


class TokenRefused(Exception):
    """A service answers 401."""


class Token(Protocol):
    """Where a token comes from."""

    def value(self) -> str | None:
        """Return the token; None if there is none."""

    def renew(self) -> bool:
        """Get another token; return False if that is not possible."""


class ComparedService(Protocol):
    """One of the two services.

    :ivar name: what reports call it
    :ivar mount: the path below which it is mounted, without `/` at its end
    """

    name: str
    mount: str

    def ask(self, request: Request) -> ReceivedAnswer:
        """Return the answer. Raises Unanswered and TokenRefused."""

    def renew(self) -> None:
        """Forget what the service keeps of earlier answers."""


class HTTPService:
    """A service at a URL.

    :param url: http or https, with the path below which the service is mounted
    :param timeout: seconds for the connection, for each silence in an answer, and for a whole body
    :param cacert: file with the certificates of authorities; None: those of the system
    :param insecure: whether the server's certificate is not checked
    """

    def __init__(
        self,
        url: str,
        token: Token,
        timeout: float,
        connections: int = 1,
        cacert: str | None = None,
        insecure: bool = False,
    ) -> None:
        self.name, self.mount = checked_url(url)
        self._token = token
        self._timeout = timeout
        options: dict[str, Any] = {
            "timeout": urllib3.Timeout(connect=timeout, read=timeout),
            "maxsize": connections,
            "retries": False,
        }
        if self.name.startswith("https:"):
            options |= {"cert_reqs": "CERT_NONE" if insecure else "CERT_REQUIRED"}
            if cacert is not None:
                options["ca_certs"] = cacert
        self._pool = urllib3.connection_from_url(self.name, **options)

    def ask(self, request: Request) -> ReceivedAnswer:
        """Return the answer, with another token if the service refuses this one."""
        answer = self._ask(request)
        if answer.status == UNAUTHORIZED and self._token.renew():
            answer = self._ask(request)
        if answer.status == UNAUTHORIZED:
            raise TokenRefused(self.name)
        return answer

    def renew(self) -> None:
        """Do nothing: what the service keeps is its own matter."""

    def _ask(self, request: Request) -> ReceivedAnswer:
        token = self._token.value()
        headers = request.headers_beside({"Accept": "application/json"})
        if token is not None:
            headers["X-Auth-Token"] = token
        try:
            return self._sent(request, headers)
        except urllib3.exceptions.ProtocolError:
            # the server closed a connection that it had kept open
            pass
        except urllib3.exceptions.HTTPError as error:
            raise _unanswered(error) from None
        try:
            return self._sent(request, headers)
        except urllib3.exceptions.HTTPError as error:
            raise _unanswered(error) from None

    def _sent(self, request: Request, headers: Mapping[str, str]) -> ReceivedAnswer:
        response = self._pool.urlopen(
            METHOD,
            self.mount + request.path,
            headers=headers,
            redirect=False,
            preload_content=False,
            decode_content=False,
        )
        try:
            return ReceivedAnswer(
                response.status, joined(response.headers.items()), self._body(response)
            )
        finally:
            response.release_conn()

    def _body(self, response: "urllib3.BaseHTTPResponse") -> bytes:
        pieces, size = [], 0
        with _connection_ends(response, self._timeout) as late:
            try:
                while piece := response.read(_PIECE):
                    pieces.append(piece)
                    size += len(piece)
                    if size > LONGEST_ANSWER:
                        response.close()
                        raise Unanswered(
                            f"the answer is longer than {LONGEST_ANSWER // _PIECE} MiB", True
                        )
            except urllib3.exceptions.HTTPError:
                if not late.is_set():
                    raise
        if late.is_set():
            response.close()
            raise Unanswered("no answer in time", True)
        return b"".join(pieces)


@contextlib.contextmanager
def _connection_ends(
    response: "urllib3.BaseHTTPResponse", seconds: float
) -> Iterator[threading.Event]:
    """End the connection if this block takes longer; yield what is set then.

    A timeout of urllib3 limits each silence alone, and its `read` waits for a whole piece. So a
    server that sends a byte now and then would hold it for ever.
    """
    late = threading.Event()
    if response.closed:
        # the answer has no body
        yield late
        return

    def end() -> None:
        late.set()
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    # a descriptor of its own, because the response may close the other meanwhile
    with socket.socket(fileno=os.dup(response.fileno())) as connection:
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            yield late
        finally:
            timer.cancel()
            timer.join()


_UNREACHED = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)


def _unanswered(error: Exception) -> Unanswered:
    """Return the error in the words of an operator, without addresses of objects."""
    connected = not isinstance(error, (*_UNREACHED, urllib3.exceptions.SSLError))
    if isinstance(error, urllib3.exceptions.TimeoutError) and connected:
        return Unanswered("no answer in time", True)
    refused = isinstance(error, urllib3.exceptions.NewConnectionError)
    if isinstance(error, urllib3.exceptions.ConnectTimeoutError) and not refused:
        return Unanswered("no connection in time", False)
    # before the last of these is the object's own name
    words = re.split(r">: |\bport=\d+\): ", str(error))[-1] or type(error).__name__
    return Unanswered(words, connected)


def checked_url(url: str) -> tuple[str, str]:
    """Return a service's URL without `/` at its end, and its path. Raises UnusableURL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UnusableURL("it can't be parsed") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UnusableURL("it must begin with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise UnusableURL("it must have no user and no password; give a token instead")
    if parts.query or parts.fragment or port == 0:
        raise UnusableURL("it must end with a path or the port, without a query")
    if not re.fullmatch(r"[\x21-\x7e]*", url):
        raise UnusableURL("it must be percent-encoded")
    return url.rstrip("/"), parts.path.rstrip("/")


class Pace:
    """Lets requests begin at even intervals, whoever sends them.

    :param rate: requests a second; 0: no limit
    """

    def __init__(self, rate: float) -> None:
        self._interval = 1 / rate if rate else 0.0
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        """Wait until the next request may begin."""
        if not self._interval:
            return
        with self._lock:
            now = time.monotonic()
            begin = max(now, self._next)
            self._next = begin + self._interval
        if begin > now:
            time.sleep(begin - now)


class Paced:
    """A service that is asked at a pace."""

    def __init__(self, service: ComparedService, pace: Pace) -> None:
        self.name = service.name
        self.mount = service.mount
        self._service = service
        self._pace = pace

    def ask(self, request: Request) -> ReceivedAnswer:
        """Return the answer when it is this request's turn."""
        self._pace.wait()
        return self._service.ask(request)

    def renew(self) -> None:
        """Forget what the service keeps."""
        self._service.renew()
