"""The response of an endpoint, as a WSGI application."""

from collections.abc import Iterable
from http import HTTPStatus

from placement.http.environ import Environ, Headers, StartResponse

#: status lines by number, in the reference's letters
_LINES = {status.value: f"{status.value} {status.phrase.upper()}" for status in HTTPStatus}
NO_CONTENT = 204
NOT_MODIFIED = 304
_BODILESS = (NO_CONTENT, NOT_MODIFIED)


class Answer:
    """A response whose headers are sent unchanged, with the length of its body.

    Werkzeug's would copy the headers and parse Location. Location repeats the client's Host header,
    which may hold any bytes, and the parser may fail on them. For a small request, that and what
    else it does would cost as much as all else.

    :param status: a number, or the whole line
    :param body: pieces; its method `close`, if it has one, is called by the server
    :param has_length: whether the headers tell the length of the body. If not, it is added behind
        them, and `body` is a list
    """

    __slots__ = ("_has_length", "body", "headers", "status")

    def __init__(
        self,
        status: int | str,
        headers: Headers,
        body: Iterable[bytes] = (),
        has_length: bool = False,
    ) -> None:
        self.status = _LINES[status] if isinstance(status, int) else status
        self.headers = headers
        self.body = body
        self._has_length = has_length or status in _BODILESS

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if not self._has_length:
            self.headers.append(("Content-Length", str(sum(map(len, self.body)))))
        start_response(self.status, self.headers)
        return () if environ["REQUEST_METHOD"] == "HEAD" else self.body
