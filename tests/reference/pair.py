"""The reference and Berth side by side, each with its own database."""

import contextlib
import dataclasses
import http.client
import math
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from placement.compare import searches
from placement.compare.answers import UUID, Reader, ReceivedAnswer
from placement.compare.request import joined
from tests.patience import PATIENCE
from tests.reference import deviations
from tests.reference.answers import differences, header_differences
from tests.reference.picture import Camera, Picture
from tests.reference.script import Request
from tests.responses import Exchange, complaints

#: owner of consumers whose microversion can't name an owner
INCOMPLETE = "00000000-0000-0000-0000-000000000000"
READING = ("GET", "HEAD", "OPTIONS")


class Side:
    """One of the two services while one script runs."""

    def __init__(self, port: int, database: Path) -> None:
        self.port = port
        #: values that the service generated: uuids by label, and the placeholder of each
        self.made: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.sent: set[str] = {INCOMPLETE}
        self.reader = Reader(self._known)
        self._begun: list[float] = []
        self.camera = Camera(database, self.names, self._begun)
        self.picture = self.camera.picture()

    def _known(self, uuid: str) -> str:
        """Return a uuid as scripts name it: one that the service generated has another name."""
        if name := self.names.get(uuid):
            return name
        return uuid if uuid in self.sent else "<new uuid>"

    def generation(self, kind: str, uuid: str) -> int | None:
        """Return the current generation of a provider or consumer."""
        uuid = self.names.get(uuid, uuid)
        known = self.picture.consumers if kind == "consumer_generation" else self.picture.providers
        return known[uuid].generation if uuid in known else None

    def send(self, request: Request) -> ReceivedAnswer:
        """Send the request without further headers, and remember generated values."""
        filled = request.filled_in(self)
        self.sent.update(UUID.findall(f"{filled.path} {filled.text()}".lower()))
        text = filled.text()
        self._begun.append(time.time())
        body = None if text is None else text.encode("utf-8", "surrogateescape")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.putrequest(
                filled.method, filled.path, skip_host=True, skip_accept_encoding=True
            )
            connection.putheader("Host", "placement.test")
            for name, value in filled.all_headers().items():
                connection.putheader(name, value)
            if body is not None and "Content-Length" not in filled.headers:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = _answer(connection.getresponse())
        location = answer.headers.get("location", "").rpartition("/")[2]
        if request.label and location and location not in self.sent:
            self.made[request.label] = location
            self.names[location] = f"${{made:{request.label}}}"
        if request.method not in READING:
            self.picture = self.camera.picture()
        return answer


def _answer(response: http.client.HTTPResponse) -> ReceivedAnswer:
    return ReceivedAnswer(response.status, joined(response.getheaders()), response.read())


class Moments:
    """The times of requests, to tell whether the same request wrote two rows."""

    def __init__(self, since: float) -> None:
        self._since = since
        self._spans: set[tuple[int, int]] = set()

    def end(self, since: float | None = None) -> None:
        """Record that a request began at `since` and has ended now."""
        begun = self._since if since is None else since
        self._spans.add((math.floor(begun), math.floor(time.time())))

    def agree(self, first: int | None, second: int | None) -> bool:
        """Return whether one request was running at both times, in seconds; None means no time."""
        if first is None or second is None:
            return first is second
        return any(a <= first <= b and a <= second <= b for a, b in self._spans)


class Pair:
    """Sends each request to both services and compares responses and databases."""

    def __init__(self, reference: Side, ours: Side, since: float) -> None:
        self.reference = reference
        self.ours = ours
        #: the reference's last response
        self.answer: ReceivedAnswer | None = None
        self._moments = Moments(since)
        self._moments.end()

    @property
    def picture(self) -> Picture:
        """Return the contents of the reference's database."""
        return self.reference.picture

    def send(self, request: Request) -> list[str]:
        """Send a request; return the differences, a line each: the reference's first."""
        before = self.picture
        begun = time.time()
        theirs, mine = self.reference.send(request), self.ours.send(request)
        self._moments.end(begun)
        lines = self._differences(request, before, theirs, mine)
        self.answer = theirs
        for name, side, answer in (
            ("reference", self.reference, theirs),
            ("ours", self.ours, mine),
        ):
            sent = request.filled_in(side)
            lines += [f"{name}, answer: {wrong}" for wrong in _complaints(sent, answer)]
        self._heal(request, theirs, before)
        return lines + self.picture.differences(self.ours.picture)

    def _differences(
        self, request: Request, before: Picture, theirs: ReceivedAnswer, mine: ReceivedAnswer
    ) -> list[str]:
        """Return the differences of the two responses that aren't allowed."""
        readers = self.reference.reader, self.ours.reader
        bodies = readers[0].body(theirs), readers[1].body(mine)
        limit = searches.limit_of(request.path) if request.method == "GET" else None
        if limit is not None and theirs.status == mine.status == 200:
            lines = self._chosen_differently(request, *bodies, limit)
            lines += header_differences(theirs, mine, *readers)
        elif deviations.accepted(request, before, theirs, mine, bodies) is None:
            lines = differences(theirs, mine, *readers)
        elif theirs.status == mine.status:
            lines = header_differences(theirs, mine, *readers)
        else:
            return []
        if not self._moments.agree(theirs.modified, mine.modified):
            times = (theirs.headers.get("last-modified"), mine.headers.get("last-modified"))
            lines.append(f"header last-modified: {times[0]} / {times[1]}")
        return lines

    def _chosen_differently(
        self, request: Request, their_body: Any, my_body: Any, limit: int
    ) -> list[str]:
        """Return what is wrong with two choices of at most `limit` candidates."""
        unlimited = dataclasses.replace(request, path=searches.without_limit(request.path))
        lines = self.send(unlimited)
        everything = self.reference.reader.body(self.reference.send(unlimited))
        lines += [f"reference, {line}" for line in searches.limited(their_body, everything, limit)]
        everything = self.ours.reader.body(self.ours.send(unlimited))
        lines += [f"ours, {line}" for line in searches.limited(my_body, everything, limit)]
        return lines

    def _heal(self, request: Request, answer: ReceivedAnswer, before: Picture) -> None:
        orphans = deviations.orphans(request, answer, before, self.picture, self.ours.picture)
        for uuid in orphans:
            self.reference.camera.forget_consumer(uuid)
        if orphans:
            self.reference.picture = self.reference.camera.picture()


def _complaints(request: Request, answer: ReceivedAnswer) -> list[str]:
    """Return what is wrong with a response by its schema; the reference's and 500s have none."""
    if "x-openstack-request-id" not in answer.headers or answer.status == 500:
        return []
    path = unquote_to_bytes(request.path.partition("?")[0]).decode("latin-1")
    if path == "/\n" or not path.endswith("/\n"):
        # the routes ignore one newline
        path = path.removesuffix("\n")
    return complaints(
        Exchange(
            request.method,
            path,
            {name.lower(): value for name, value in request.all_headers().items()},
            answer.status,
            answer.headers,
            answer.body,
        )
    )
