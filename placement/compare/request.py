"""A GET request that both services are asked, and files of such requests."""

import dataclasses
import re
from collections.abc import Iterable, Mapping

METHOD = "GET"
VERSION_HEADER = "OpenStack-API-Version"
VERSION = re.compile(r"[1-9]\d{0,2}\.\d{1,4}|latest")
#: written instead of a microversion: the request has no microversion header
NO_VERSION = "none"
_HEADER = re.compile(r"(?P<name>[A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*(?P<value>[\x20-\x7e\t]*)")
_PATH = re.compile(r"/[\x21-\x7e]*")
_METHOD = re.compile(r"[A-Za-z]+")
#: headers that a file may not set: who asks is an option, and a GET request has no body
_SECRET = {"x-auth-token", "x-service-token", "authorization", "cookie"}
_OWN = {"host", "connection", "content-length", "transfer-encoding", "upgrade", "expect"}


class UnusableFile(Exception):
    """A file of requests can't be used; the message names the line and what is wrong with it."""


@dataclasses.dataclass(frozen=True)
class Request:
    """A GET request.

    :param path: path and query, percent-encoded, without the prefix of the service
    :param version: microversion such as `1.39`, or `latest`; None: no such header
    :param headers: further headers, without a token
    """

    path: str
    version: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def all_headers(self) -> dict[str, str]:
        """Return the headers to send."""
        found = {} if self.version is None else {VERSION_HEADER: f"placement {self.version}"}
        return found | dict(self.headers)

    def headers_beside(self, others: Mapping[str, str]) -> dict[str, str]:
        """Return all headers, and those of the others that have other names, in any case."""
        found = self.all_headers()
        own = {name.lower() for name in found}
        return {name: value for name, value in others.items() if name.lower() not in own} | found

    def __str__(self) -> str:
        return f"{METHOD} {self.path} {self.version or NO_VERSION}"

    def at_least(self, minor: int) -> bool:
        """Return whether the request's microversion is 1.`minor` or later."""
        if self.version is None:
            return minor <= 0
        return self.version == "latest" or int(self.version.partition(".")[2]) >= minor


def read_requests(lines: Iterable[str], version: str, source: str = "line") -> list[Request]:
    """Return the requests in the lines of a file, each one once. Raises UnusableFile.

    A line is `GET PATH [VERSION]`; indented lines after it are headers, `Name: value`. Empty lines
    and lines that begin with `#` mean nothing.

    :param version: for requests that name none
    :param source: what the number of a line follows in messages
    """
    found: dict[Request, None] = {}
    last: Request | None = None
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n \t")
        if not text or text.lstrip().startswith("#"):
            continue
        try:
            if text[0] in " \t":
                last = _with_header(last, text.strip())
            else:
                if last is not None:
                    found[last] = None
                last = _request(text.split(), version)
        except ValueError as wrong:
            raise UnusableFile(f"{source} {number}: {wrong}") from None
    if last is not None:
        found[last] = None
    return list(found)


def _request(words: list[str], version: str) -> Request:
    method, *rest = words
    if method != METHOD:
        if _METHOD.fullmatch(method):
            raise ValueError(f"{method.upper()} is refused, because only GET requests are sent.")
        raise ValueError("write GET, a path and, if wanted, a microversion.")
    if not 1 <= len(rest) <= 2:
        raise ValueError("write GET, a path and, if wanted, a microversion.")
    if not _PATH.fullmatch(rest[0]) or "#" in rest[0]:
        raise ValueError(
            f"{rest[0][:80]!r} is no path: it must begin with / and be percent-encoded."
        )
    given = rest[1] if len(rest) == 2 else version
    if given != NO_VERSION and not VERSION.fullmatch(given):
        raise ValueError(
            f"{given[:40]!r} is no microversion: write for example 1.39, latest or {NO_VERSION}."
        )
    return Request(rest[0], None if given == NO_VERSION else given)


def _with_header(request: Request | None, text: str) -> Request:
    if request is None:
        raise ValueError("a header must follow a request.")
    header = _HEADER.fullmatch(text)
    if header is None:
        raise ValueError("an indented line must be a header, such as `Accept: text/html`.")
    name = header["name"]
    if name.lower() in _SECRET:
        raise ValueError(f"{name} can't be in the file: give the token as an option.")
    if name.lower() in _OWN:
        raise ValueError(f"{name} can't be set.")
    if name.lower() == VERSION_HEADER.lower():
        request = dataclasses.replace(request, version=None)
    return dataclasses.replace(request, headers=(*request.headers, (name, header["value"])))


def joined(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Return headers of an answer by name in lower case, repeated ones joined."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
