"""Many clients in one process, which cost little beside the service that they ask.

What a client does is a generator: it yields requests, is sent their answers, and returns whether it
has done what it wanted. A connection stays for the next request, if the service lets it.
"""

import collections
import dataclasses
import json
import random
import re
import selectors
import socket
import time
from collections.abc import Callable, Generator
from typing import Any

from benchmarks.servers import HEADERS, PATIENCE

#: yields method, path and body (None: without one), is sent status and content
Deed = Generator[tuple[str, str, Any], tuple[int, bytes], bool]
_HEAD = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CLOSES = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
_AT_ONCE = 1 << 18


class NoAnswer(Exception):
    """The service has closed a connection without an answer, or takes too long."""


@dataclasses.dataclass
class Seen:
    """What clients saw: the seconds of each deed that succeeded, and how often a status came."""

    times: list[float] = dataclasses.field(default_factory=list)
    statuses: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def quantile(self, part: float) -> float:
        """Return the seconds in which such a part of the deeds was done; NaN without any."""
        times = sorted(self.times)
        return times[int(len(times) * part)] if times else float("nan")


class _CrowdClient:
    """One client.

    :param path: a socket file, or a port of this machine
    :param keeps: whether a connection stays
    :param source: the client's own source of chance
    """

    def __init__(
        self, path: str | int, keeps: bool, poll: selectors.BaseSelector, source: random.Random
    ) -> None:
        self._path, self._keeps, self._poll, self._source = path, keeps, poll, source
        self._sock: socket.socket | None = None
        self._method, self._read = "", b""
        self.begun, self.count = 0.0, 0
        self.deed: Deed

    def begin(self, deeds: Callable[[random.Random], Deed]) -> None:
        """Begin the next deed."""
        self.begun, self.deed = time.perf_counter(), deeds(self._source)
        self.count += 1
        self.send(*next(self.deed))

    def send(self, method: str, path: str, body: Any) -> None:
        """Send a request."""
        self._method, self._read = method, b""
        content = b"" if body is None else json.dumps(body).encode()
        kind = "Content-Type: application/json\r\n" if content else ""
        end = f"Host: localhost\r\n{_HEAD}{kind}Content-Length: {len(content)}\r\n\r\n"
        self._connected().sendall(f"{method} {path} HTTP/1.1\r\n{end}".encode() + content)

    def _connected(self) -> socket.socket:
        if self._sock is None:
            if isinstance(self._path, int):
                self._sock = socket.create_connection(("127.0.0.1", self._path), PATIENCE)
                self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            else:
                self._sock = socket.socket(socket.AF_UNIX)
                self._sock.connect(self._path)
            self._poll.register(self._sock, selectors.EVENT_READ, self)
        return self._sock

    def receive(self, seen: Seen) -> tuple[int, bytes] | None:
        """Read what has come; return status and content of the answer as soon as all is there."""
        data = self._connected().recv(_AT_ONCE)
        if not data:
            raise NoAnswer(f"closed after {self._read[:200]!r}")
        self._read += data
        head, _, content = self._read.partition(b"\r\n\r\n")
        found = _LENGTH.search(head)
        if len(head) == len(self._read) or len(content) < (int(found[1]) if found else 0):
            return None
        if not self._keeps or _CLOSES.search(head):
            self.close()
        status = int(head[9:12])
        seen.statuses[f"{self._method} {status}"] += 1
        return status, content

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._sock is not None:
            self._poll.unregister(self._sock)
            self._sock.close()
            self._sock = None


def crowd(
    path: str | int,
    deeds: Callable[[random.Random], Deed],
    clients: int,
    seed: int,
    seconds: float = PATIENCE,
    most: int | None = None,
    keeps: bool = True,
) -> Seen:
    """Let clients do one deed after the other; return what they saw.

    A client ends after a deed without success. What has begun when the time is over isn't counted.

    :param path: a socket file, or a port of this machine
    :param deeds: makes a client's next deed, from the client's own source of chance
    :param seconds: for which clients work at most
    :param most: the most deeds of each client; None: no limit
    :param keeps: whether a client's connection stays; if not, each request has its own

    :raises NoAnswer: if a connection is closed without an answer, or if a client hasn't done `most`
        deeds when the time is over
    """
    seen = Seen()
    with selectors.DefaultSelector() as poll:
        working = [
            _CrowdClient(path, keeps, poll, random.Random(seed * 1000 + number))
            for number in range(clients)
        ]
        end = time.monotonic() + seconds
        for client in working:
            client.begin(deeds)
        while working and (left := end - time.monotonic()) > 0:
            for key, _ in poll.select(left):
                client = key.data
                answer = client.receive(seen)
                if answer is None:
                    continue
                try:
                    client.send(*client.deed.send(answer))
                except StopIteration as ended:
                    if ended.value:
                        seen.times.append(time.perf_counter() - client.begun)
                    if ended.value and client.count != most:
                        client.begin(deeds)
                    else:
                        client.close()
                        working.remove(client)
        for client in working:
            client.close()
    if working and most is not None:
        raise NoAnswer(f"{len(working)} of {clients} clients aren't done after {seconds:g} s")
    return seen
