"""The reference and our service side by side, each with a database of its own."""

import contextlib
import dataclasses
import http.client
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

from tests.gabbi import services
from tests.reference import deviations
from tests.reference.answers import UUID, Answer, Reader, differences
from tests.reference.picture import Camera, Picture
from tests.reference.script import Request
from tests.responses import Exchange, complaints

SECONDS_TO_ANSWER = 60
#: of consumers that older microversions can't name
INCOMPLETE = "00000000-0000-0000-0000-000000000000"
FORK_SERVER = Path(__file__).with_name("fork_server.py")
READING = ("GET", "HEAD", "OPTIONS")


class Side:
    """One of the two services while one script runs."""

    def __init__(self, port: int, database: Path) -> None:
        self.port = port
        #: what the service made up: uuids by label, and the placeholder for each
        self.made: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.sent: set[str] = {INCOMPLETE}
        self.reader = Reader(self.names, self.sent)
        self._begun: list[float] = []
        self.camera = Camera(database, self.names, self._begun)
        self.picture = self.camera.picture()

    def generation(self, kind: str, uuid: str) -> int | None:
        """The generation of a provider or consumer now."""
        uuid = self.names.get(uuid, uuid)
        known = self.picture.consumers if kind == "consumer_generation" else self.picture.providers
        return known[uuid].generation if uuid in known else None

    def send(self, request: Request) -> Answer:
        """Send what the request says, no header more, and remember what the service made up."""
        filled = request.filled_in(self)
        self.sent.update(UUID.findall(f"{filled.path} {filled.text()}".lower()))
        text = filled.text()
        self._begun.append(time.time())
        body = None if text is None else text.encode("utf-8", "surrogateescape")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_TO_ANSWER)
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


def _answer(response: http.client.HTTPResponse) -> Answer:
    headers: dict[str, str] = {}
    for name, value in response.getheaders():
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Answer(response.status, headers, response.read())


class Moments:
    """When requests were under way, to tell whether two row times stem from the same one."""

    def __init__(self, since: float) -> None:
        self._since = since
        self._spans: set[tuple[int, int]] = set()

    def end(self, since: float | None = None) -> None:
        """Note that a request began at `since` and is over now."""
        begun = self._since if since is None else since
        self._spans.add((math.floor(begun), math.floor(time.time())))

    def agree(self, first: int | None, second: int | None) -> bool:
        """Whether some request was under way at both times, in seconds; None means no time."""
        if first is None or second is None:
            return first is second
        return any(a <= first <= b and a <= second <= b for a, b in self._spans)


class Pair:
    """Sends each request to both services and says how their answers and databases differ."""

    def __init__(self, reference: Side, ours: Side, since: float) -> None:
        self.reference = reference
        self.ours = ours
        self._moments = Moments(since)
        self._moments.end()

    @property
    def picture(self) -> Picture:
        """What the reference holds now."""
        return self.reference.picture

    def send(self, request: Request) -> list[str]:
        """What isn't the same, a line each: the reference's first."""
        before = self.picture
        begun = time.time()
        theirs, mine = self.reference.send(request), self.ours.send(request)
        self._moments.end(begun)
        lines = []
        if deviations.accepted(request, theirs, mine) is None:
            lines += differences(theirs, mine, self.reference.reader, self.ours.reader)
            if not self._moments.agree(theirs.modified, mine.modified):
                times = (theirs.headers.get("last-modified"), mine.headers.get("last-modified"))
                lines.append(f"header last-modified: {times[0]} / {times[1]}")
        for side, answer in (("reference", theirs), ("ours", mine)):
            lines += [f"{side}, answer: {wrong}" for wrong in _complaints(request, answer)]
        self._heal(request, theirs, before)
        return lines + self.picture.differences(self.ours.picture)

    def _heal(self, request: Request, answer: Answer, before: Picture) -> None:
        orphans = deviations.orphans(request, answer, before, self.picture, self.ours.picture)
        for uuid in orphans:
            self.reference.camera.forget_consumer(uuid)
        if orphans:
            self.reference.picture = self.reference.camera.picture()


def _complaints(request: Request, answer: Answer) -> list[str]:
    """What is wrong with an answer by its schema; the server's own and crashes have none."""
    if "x-openstack-request-id" not in answer.headers or answer.status == 500:
        return []
    path = unquote_to_bytes(request.path.partition("?")[0]).decode("latin-1")
    return complaints(
        Exchange(
            request.method,
            # the routes overlook one newline
            path.removesuffix("\n") or path,
            {name.lower(): value for name, value in request.all_headers().items()},
            answer.status,
            answer.headers,
            answer.body,
        )
    )


class Starter:
    """Starts fresh services of one environment, each in place of the one before."""

    def __init__(self, interpreter: str, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        self._process = subprocess.Popen(
            [interpreter, "-P", str(FORK_SERVER)],
            cwd=folder,
            env=_plain_environ(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self) -> tuple[int, Path]:
        """Port and database of a service that holds nothing yet."""
        place = Path(tempfile.mkdtemp(dir=self._folder))
        options = services.options_of(place, {})
        command = {"environ": _as_environ(options), "log": str(self._folder / "log")}
        return self._obey(command)["port"], place / "placement.db"

    def stop(self) -> None:
        """Stop the service and forget its database."""
        self._obey(None)
        for place in self._folder.iterdir():
            if place.is_dir():
                shutil.rmtree(place)

    def close(self) -> None:
        """Stop everything."""
        self._process.communicate()

    def _obey(self, command: dict | None) -> dict:
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def _plain_environ() -> dict[str, str]:
    """This process's environment without options of a placement service."""
    left_out = ("OS_", "PYTHONPATH", "PYTHONHOME")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


def _as_environ(options: services.Options) -> dict[str, str]:
    """The options as a placement service finds them in its environment."""
    return {
        f"OS_{group}__{option}".upper(): str(value)
        for group, settings in options.items()
        for option, value in settings.items()
    }


@dataclasses.dataclass(frozen=True)
class Bench:
    """Where pairs are set up, one at a time."""

    reference: Starter
    ours: Starter

    @contextlib.contextmanager
    def pair(self) -> Iterator[Pair]:
        """Both services, empty."""
        since = time.time()
        sides = []
        try:
            for starter in (self.reference, self.ours):
                port, database = starter.start()
                _wait_for(port)
                sides.append(Side(port, database))
            pair = Pair(*sides, since)
            yield pair
        finally:
            for side in sides:
                side.camera.close()
            self.reference.stop()
            self.ours.stop()


def _wait_for(port: int) -> None:
    """Wait for the first answer; the socket listens already, so the request is in its queue."""
    with contextlib.closing(
        http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS_TO_ANSWER)
    ) as connection:
        connection.request("GET", "/")
        connection.getresponse().read()


@contextlib.contextmanager
def bench(reference_python: str, folder: Path) -> Iterator[Bench]:
    """Everything that is needed to compare, ours run by this interpreter."""
    with contextlib.ExitStack() as stack:
        starters = []
        for name, interpreter in (("reference", reference_python), ("ours", sys.executable)):
            starters.append(Starter(interpreter, folder / name))
            stack.callback(starters[-1].close)
        yield Bench(*starters)
