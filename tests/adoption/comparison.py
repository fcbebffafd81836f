"""Compare the responses of two services on one database, or of one after the other."""

import math
import time
from collections.abc import Iterable
from typing import Any

from placement.compare.answers import Reader, ReceivedAnswer
from placement.compare.deviations import READING
from tests.adoption.cloud import questions
from tests.adoption.programs import Service
from tests.reference.answers import differences
from tests.reference.script import Request

#: these deviations depend on the request alone
_NO_CLOUD: Any = None
#: stands for the last-modified of a response that gives the time of the response itself
NOW = "now"


class Answers:
    """A service's responses to all GET requests.

    Times are compared, too. Times of rows must be equal; a time of the response itself (see NOW)
    must only be recent.
    """

    def __init__(self, service: Service, asked: Iterable[Request] | None = None) -> None:
        self._since = _new_second()
        self.by_request: dict[str, ReceivedAnswer] = {}
        for request in questions(service) if asked is None else asked:
            answer = service.send(request)
            assert answer.status < 500 or crashes(service, request), (service.name, request, answer)
            self.by_request[f"{request.path} {request.version}"] = answer

    def _modified(self, answer: ReceivedAnswer) -> int | str | None:
        time = answer.modified
        return NOW if time is not None and time >= self._since else time

    def differences(self, other: "Answers") -> list[str]:
        """Return the differences from another service's responses, a line each; ours come first."""
        reader = Reader()
        lines = []
        if self.by_request.keys() != other.by_request.keys():
            lines.append(f"asked: {sorted(self.by_request.keys() ^ other.by_request.keys())}")
        for path in self.by_request.keys() & other.by_request.keys():
            before, after = self.by_request[path], other.by_request[path]
            if 500 in (before.status, after.status):
                continue
            found = differences(before, after, reader, reader)
            times = self._modified(before), other._modified(after)
            # a row's time is that of the response itself for one of them if the clock stepped back
            if times[0] != times[1] and before.modified != after.modified:
                found.append(f"header last-modified: {times[0]} / {times[1]}")
            lines += [f"{path}: {line}" for line in found]
        return lines


def crashes(service: Service, request: Request) -> bool:
    """Return whether the reference fails with 500 on PostgreSQL."""
    return service.name == "reference" and any(
        one.words.startswith("On PostgreSQL, ") and one.concerns(request, _NO_CLOUD)
        for one in READING
    )


def _new_second() -> int:
    """Wait for the start of a new second, in which nothing has been written, and return it."""
    now = time.time()
    second = math.floor(now) + 1
    while now < second:
        time.sleep(second - now)
        now = time.time()
    return second
