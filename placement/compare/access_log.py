"""Read GET requests from the logs of services and of the servers in front of them.

Known are the request log of placement (as text and as JSON), the common and combined formats of
Apache, nginx, gunicorn and HAProxy (`option httplog`), and uWSGI's own; all of them also
compressed by gzip.
"""

import collections
import dataclasses
import gzip
import io
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from placement.compare.request import METHOD, VERSION, Request

#: bytes of a line that are looked at
LONGEST_LINE = 64 * 1024
#: kinds of requests that are told apart
_MOST_KINDS = 500
_GZIP = b"\x1f\x8b"
_METHODS = "GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT"
#: placement's own: `192.0.2.7 "GET /placement/traits" status: 200 len: 10841 microversion: 1.39`
_OWN = re.compile(
    # a path has no other beginning of a request: else the time grows with the square of the line
    rf'"(?P<method>{_METHODS}) (?P<path>(?:(?!"(?:{_METHODS}) ).)*)"'
    r" status: \d+ len: \S+ microversion: (?P<version>\S+)"
)
#: as servers quote a request line
_QUOTED = re.compile(rf'"(?P<method>{_METHODS}) (?P<path>(?:[^" \\]|\\.)*) HTTP/\d(?:\.\d)?"')
#: uWSGI: `{30 vars in 400 bytes} [Mon Jan  5 10:00:00 2026] GET /traits => generated 9 bytes in …`
_UWSGI = re.compile(rf"\] (?P<method>{_METHODS}) (?P<path>\S*) => generated \d+ bytes")
#: HAProxy cuts a long line off, and with it the end of the request
_CUT = re.compile(rf'"(?:{_METHODS}) /[^" ]*"?\s*$')
#: a microversion header that the operator's own format has
_MICROVERSION = re.compile(r"\bplacement[ :=](?P<version>1\.\d{1,4}|latest)\b")
#: how servers write bytes that they don't show
_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})")
_PLAIN = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"#<>\\^`{|}')
_FIRST = {
    *("resource_providers", "resource_classes", "traits", "aggregates"),
    *("allocations", "allocation_candidates", "usages", "reshaper"),
}
_PREFIX = "/placement"

NO_REQUEST = "lines without a request"
OTHER_METHOD = "requests with another method than GET"
OTHER_PATH = "requests for paths that placement doesn't have"
CUT_OFF = "requests that were cut off"
REPEATED = "requests that were there before"
BEYOND = "requests beyond the limit"


@dataclasses.dataclass
class Chosen:
    """The requests to send, and how many others there were, by the reason for leaving them out."""

    requests: list[Request]
    skipped: collections.Counter[str]


class _Skipped(Exception):
    """A line has no request to send; the message is one of the reasons above."""


def request_in(line: str, version: str | None, prefix: str | None = None) -> Request:
    """Return the request of a line. Raises an exception with the reason if it has none to send.

    :param version: microversion if the line has none
    :param prefix: the path below which the service was mounted; None: `/placement` or nothing
    """
    line = _message_of(line)
    own = _OWN.search(line)
    found = own or _QUOTED.search(line) or _UWSGI.search(line)
    if found is None:
        raise _Skipped(CUT_OFF if _CUT.search(line) else NO_REQUEST)
    if found["method"] != METHOD:
        raise _Skipped(OTHER_METHOD)
    path = _without(prefix, _readable(found["path"]))
    if own is not None:
        named: str | None = own["version"]
    else:
        rest = line[: found.start()] + line[found.end() :]
        header = _MICROVERSION.search(rest)
        named = header["version"] if header else None
    return Request(path, named if named and VERSION.fullmatch(named) else version)


def _message_of(line: str) -> str:
    """Return the message of a line of JSON, or the line."""
    if not line.startswith("{"):
        return line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    message = record.get("message") if isinstance(record, dict) else None
    return message if isinstance(message, str) else line


def _readable(path: str) -> str:
    """Return the path percent-encoded as it was sent, as well as the log shows that."""
    path = _ESCAPED.sub(lambda found: f"%{found[1]}", path).replace('\\"', "%22")
    return quote(path, safe=_PLAIN, errors="surrogateescape")


def _without(prefix: str | None, path: str) -> str:
    """Return the path below the service's mount point. Raises _Skipped for paths of others."""
    below = path
    for mount in (_PREFIX,) if prefix is None else (prefix.rstrip("/"),):
        if path.partition("?")[0] == mount:
            below = "/" + path.removeprefix(mount)
        elif path.startswith(f"{mount}/"):
            below = path.removeprefix(mount)
        elif prefix is not None:
            raise _Skipped(OTHER_PATH)
    first = below.partition("?")[0].split("/")[1:2]
    if not below.startswith("/") or (first and first[0] not in _FIRST | {""}):
        raise _Skipped(OTHER_PATH)
    return below


def choose(
    lines: Iterable[str],
    limit: int,
    seed: int,
    version: str | None,
    prefix: str | None = None,
) -> Chosen:
    """Choose at most `limit` different requests of the lines, of each kind about as many.

    A log has many requests of few kinds. So the requests of each kind are drawn at random, in
    bounded memory, and kinds take turns.

    :param seed: the same one chooses the same requests from the same lines
    """
    draw = random.Random(seed)
    skipped: collections.Counter[str] = collections.Counter()
    kinds: dict[str, _Sample] = {}
    for line in lines:
        try:
            request = request_in(line, version, prefix)
        except _Skipped as reason:
            skipped[str(reason)] += 1
            continue
        kind = kind_of(request)
        if kind not in kinds and len(kinds) >= _MOST_KINDS:
            kind = ""
        sample = kinds.setdefault(kind, _Sample(limit, draw))
        if reason_to_skip := sample.add(request):
            skipped[reason_to_skip] += 1
    chosen: list[Request] = []
    columns = [list(sample) for _, sample in sorted(kinds.items())]
    for row in range(max(map(len, columns), default=0)):
        chosen += [column[row] for column in columns if row < len(column)]
    skipped[BEYOND] += max(0, len(chosen) - limit)
    return Chosen(chosen[:limit], +skipped)


class _Sample:
    """Some of many requests, each of them with the same chance (reservoir sampling)."""

    def __init__(self, size: int, draw: random.Random) -> None:
        self._size = size
        self._draw = draw
        self._held: list[Request] = []
        self._known: set[Request] = set()
        self._seen = 0

    def add(self, request: Request) -> str | None:
        """Take a request in, perhaps instead of another one; return why one was left out."""
        if request in self._known:
            return REPEATED
        self._seen += 1
        if len(self._held) < self._size:
            self._held.append(request)
            self._known.add(request)
            return None
        place = self._draw.randrange(self._seen)
        if place < self._size:
            self._known.discard(self._held[place])
            self._held[place] = request
            self._known.add(request)
        return BEYOND

    def __iter__(self) -> Iterator[Request]:
        return iter(self._held)


def kind_of(request: Request) -> str:
    """Return the form of a request: its path without names and uuids, and its parameters."""
    path, _, query = request.path.partition("?")
    parts = path.split("/")
    shown = [part if number % 2 else "*" for number, part in enumerate(parts[:5])]
    names = sorted({part.partition("=")[0] for part in re.split("[&;]", query) if part})
    return f"{'/'.join(shown)}?{'&'.join(names)}"[:200]


def lines_of(files: Iterable[Callable[[], io.BufferedReader]]) -> Iterator[str]:
    """Yield the lines of log files, which may be compressed; long lines are cut.

    Raises OSError, EOFError and zlib.error.

    :param files: open each file, for reading bytes; it may be a pipe
    """
    for opened in files:
        with opened() as file:
            if file.peek(2)[:2] == _GZIP:
                with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
                    yield from _lines(unpacked)
            else:
                yield from _lines(file)


def _lines(file: "io.BufferedReader | gzip.GzipFile") -> Iterator[str]:
    while line := file.readline(LONGEST_LINE):
        if not line.endswith(b"\n") and len(line) == LONGEST_LINE:
            # the rest of a long line is no line of its own
            while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                pass
        yield line.decode("utf-8", "surrogateescape").rstrip("\r\n")
