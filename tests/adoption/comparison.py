"""Two services on one database, or one after the other, give the same answers."""

import math
import time
from collections.abc import Iterable

from tests.adoption.cloud import questions
from tests.adoption.programs import Service
from tests.reference.answers import UUID, Answer, Reader, differences
from tests.reference.script import Request

#: of answers that say when they were given, not when something changed
NOW = "now"


class Answers:
    """What a service answers to every question.

    Times are compared, too: those of rows must be the same, the others are only seen to be now.
    """

    def __init__(self, service: Service, asked: Iterable[Request] | None = None) -> None:
        self._since = _new_second()
        self.by_request: dict[str, Answer] = {}
        for request in questions(service) if asked is None else asked:
            answer = service.send(request)
            assert answer.status < 500 or crashes(service, request), (service.name, request, answer)
            self.by_request[f"{request.path} {request.version}"] = answer

    def _modified(self, answer: Answer) -> int | str | None:
        time = answer.modified
        return NOW if time is not None and time >= self._since else time

    def differences(self, other: "Answers") -> list[str]:
        """What the other answered otherwise, a line each: these answers first."""
        known: set[str] = set()
        for answer in self.by_request.values():
            known.update(UUID.findall(answer.body.decode()))
        reader = Reader({}, known)
        lines = []
        if self.by_request.keys() != other.by_request.keys():
            lines.append(f"asked: {sorted(self.by_request.keys() ^ other.by_request.keys())}")
        for path in self.by_request.keys() & other.by_request.keys():
            before, after = self.by_request[path], other.by_request[path]
            if 500 in (before.status, after.status):
                continue
            found = differences(before, after, reader, reader)
            times = self._modified(before), other._modified(after)
            if times[0] != times[1]:
                found.append(f"header last-modified: {times[0]} / {times[1]}")
            lines += [f"{path}: {line}" for line in found]
        return lines


def crashes(service: Service, request: Request) -> bool:
    """Whether the reference errs, as it does with usages by type on PostgreSQL."""
    late = request.version is not None and request.version >= "1.38"
    return service.name == "reference" and request.path.startswith("/usages") and late


def _new_second() -> int:
    """Wait for a second in which nothing was written yet, and name it."""
    now = time.time()
    second = math.floor(now) + 1
    while now < second:
        time.sleep(second - now)
        now = time.time()
    return second
