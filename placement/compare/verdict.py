"""Judge two answers to one request, headers included: the same, or different, and where."""

import dataclasses
import enum
import re
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from placement.compare import searches
from placement.compare.answers import Reader, ReceivedAnswer
from placement.compare.deviations import (
    READING,
    DeviatingCloud,
    DeviatingRequest,
    Deviation,
    accepted,
)
from placement.compare.request import Request
from placement.compare.values import ABSENT, value_differences

#: statuses that say nothing of the request: a service, or a proxy before it, can't answer now
BUSY = frozenset({429, 502, 503, 504})
_OK, _CRASHED = 200, 500
MATTERING = (
    *("openstack-api-version", "vary", "cache-control", "last-modified"),
    *("content-type", "location", "allow"),
)
#: seconds between a last-modified and the date of its answer, if it is the time of the answer
_AT_ONCE = 2
#: added by proxies that compress
_OF_PROXIES = "accept-encoding"


class VerdictKind(enum.Enum):
    """What came of a request."""

    SAME = "same"
    KNOWN = "known"
    CHANGED = "changed"
    DIFFERENT = "different"
    ERROR = "error"
    UNDECIDED = "undecided"


@dataclasses.dataclass(frozen=True)
class Difference:
    """A place in the answers, with the value of the other service and that of this one."""

    place: str
    other: Any
    this: Any


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The judgement of one pair of answers.

    :param differences: empty unless they differ
    :param why: of an error, or why it can't be decided
    """

    kind: VerdictKind
    differences: tuple[Difference, ...] = ()
    deviation: Deviation[DeviatingRequest, DeviatingCloud] | None = None
    why: str = ""


@dataclasses.dataclass(frozen=True)
class ObservedAnswer:
    """What a service answered.

    :param everything: for a search with a limit, the answer to the search without it; None: it
        wasn't asked for, or there was none
    """

    answer: ReceivedAnswer
    everything: ReceivedAnswer | None = None


@dataclasses.dataclass(frozen=True)
class Judge:
    """Compares answers of the other service, the reference, with those of this one.

    :param most: number of candidates that a search finds at most; None: no such limit
    """

    other: Reader
    this: Reader
    other_mount: str
    this_mount: str
    cloud: DeviatingCloud
    most: int | None = None

    def verdict(self, request: Request, theirs: ObservedAnswer, mine: ObservedAnswer) -> Verdict:
        """Return the judgement. A search with a limit may need looks at everything."""
        limit = searches.limit_of(request.path)
        if limit is None:
            return self._compared(request, theirs.answer, mine.answer)
        bodies = self._searched(theirs.answer), self._searched(mine.answer, True)
        if bodies[0] is None or bodies[1] is None:
            return self._compared(request, theirs.answer, mine.answer)
        counts = [len(body["allocation_requests"]) for body in bodies if body is not None]
        if max(counts) < limit:
            return self._compared(request, theirs.answer, mine.answer)
        found = self._header_differences(theirs.answer, mine.answer)
        if found:
            return Verdict(VerdictKind.DIFFERENT, tuple(found))
        if not value_differences("body", *bodies):
            return Verdict(VerdictKind.SAME)
        return self._chosen(request, theirs, mine, limit)

    def same(self, one: ObservedAnswer, two: ObservedAnswer, mine: bool) -> bool:
        """Return whether two looks at one service show the same.

        :param mine: whether it is this service, not the other one
        """
        reader, mount = (self.this, self.this_mount) if mine else (self.other, self.other_mount)
        if one.everything is None or two.everything is None:
            first, second = one.answer, two.answer
        else:
            first, second = one.everything, two.everything
        return (
            first.status == second.status
            and not header_differences(first, second, mount, mount)
            and not value_differences("body", reader.body(first), reader.body(second))
        )

    def _compared(self, request: Request, theirs: ReceivedAnswer, mine: ReceivedAnswer) -> Verdict:
        statuses = theirs.status, mine.status
        bodies = self.other.body(theirs), self.this.body(mine)
        found = [] if theirs.status == mine.status else [Difference("status", *statuses)]
        found += [Difference(*one) for one in value_differences("body", *bodies)]
        of_headers = self._header_differences(theirs, mine)
        if statuses == (_CRASHED, _CRASHED):
            return Verdict(VerdictKind.ERROR, why="both services answered 500")
        deviation = None
        if found and self._can_deviate(request, statuses, bodies):
            deviation = accepted(READING, request, self.cloud, statuses, bodies)
        if deviation is not None and (theirs.status != mine.status or not of_headers):
            return Verdict(VerdictKind.KNOWN, deviation=deviation)
        busy = [
            f"{name} answered {status}"
            for name, status in zip(("the other service", "this service"), statuses, strict=True)
            if status in BUSY
        ]
        if busy:
            return Verdict(VerdictKind.ERROR, why=" and ".join(busy))
        if not found and not of_headers:
            return Verdict(VerdictKind.SAME)
        if self._is_cut_off(request, statuses, bodies):
            return Verdict(
                VerdictKind.UNDECIDED,
                why=f"max_allocation_candidates ({self.most}) leaves out different candidates",
            )
        return Verdict(VerdictKind.DIFFERENT, (*found, *of_headers))

    def _can_deviate(
        self, request: Request, statuses: tuple[int, int], bodies: tuple[object, object]
    ) -> bool:
        """Return whether the bodies are of the form that deviations compare."""
        if not searches.is_search(request.path) or statuses != (_OK, _OK):
            return True
        return all(searches.is_answer(body) for body in bodies)

    def _is_cut_off(
        self, request: Request, statuses: tuple[int, int], bodies: Sequence[Any]
    ) -> bool:
        """Return whether the number of candidates is the most that a service generates."""
        if self.most is None or statuses != (_OK, _OK) or not searches.is_search(request.path):
            return False
        return any(
            searches.is_answer(body) and len(body["allocation_requests"]) >= self.most
            for body in bodies
        )

    def _header_differences(self, theirs: ReceivedAnswer, mine: ReceivedAnswer) -> list[Difference]:
        found = header_differences(theirs, mine, self.other_mount, self.this_mount)
        return [Difference(*one) for one in found]

    def _searched(self, answer: ReceivedAnswer | None, mine: bool = False) -> dict[str, Any] | None:
        """Return the body of a search's answer; None if it is another answer."""
        if answer is None or answer.status != _OK:
            return None
        body = (self.this if mine else self.other).body(answer)
        return body if searches.is_answer(body) else None

    def _chosen(
        self, request: Request, theirs: ObservedAnswer, mine: ObservedAnswer, limit: int
    ) -> Verdict:
        """Judge two choices of `limit` candidates by the searches without a limit."""
        others, ours = self._searched(theirs.everything), self._searched(mine.everything, True)
        if others is None and ours is None:
            return Verdict(
                VerdictKind.UNDECIDED,
                why="the choices of candidates differ, and neither service answers without a limit",
            )
        verdict = Verdict(VerdictKind.SAME)
        if theirs.everything is not None and mine.everything is not None and others and ours:
            unlimited = dataclasses.replace(request, path=searches.without_limit(request.path))
            verdict = self._compared(unlimited, theirs.everything, mine.everything)
            if verdict.kind in (VerdictKind.UNDECIDED, VerdictKind.ERROR):
                return verdict
        found = list(verdict.differences)
        their_body, my_body = self._searched(theirs.answer), self._searched(mine.answer, True)
        if verdict.kind is not VerdictKind.KNOWN and their_body is not None:
            wrong = searches.limited(their_body, others or ours or {}, limit)
            found += [Difference(f"choice: {line}", "wrong", ABSENT) for line in wrong]
        if my_body is not None:
            wrong = searches.limited(my_body, ours or others or {}, limit)
            found += [Difference(f"choice: {line}", ABSENT, "wrong") for line in wrong]
        if found and (others is None or ours is None) and self._may_lose(request):
            return Verdict(VerdictKind.UNDECIDED, why="a service doesn't answer without the limit")
        return (
            dataclasses.replace(verdict, kind=VerdictKind.DIFFERENT, differences=tuple(found))
            if (found)
            else verdict
        )

    def _may_lose(self, request: Request) -> bool:
        """Return whether the reference may find too few candidates, or others."""
        return any(
            deviation.concerns(request, self.cloud)
            for deviation in READING
            if (deviation.theirs, deviation.ours) == (_OK, _OK)
        )


def meaning_of(answer: ReceivedAnswer, mount: str = "") -> dict[str, str]:
    """Return the headers that must be equal, in a form in which equal ones mean the same.

    :param mount: the path below which the service is mounted
    """
    found = {name: answer.headers[name] for name in MATTERING if name in answer.headers}
    for name in ("vary", "allow", "cache-control"):
        if name in found:
            parts = {part.strip().lower() for part in found[name].split(",")}
            found[name] = ", ".join(sorted(parts - {_OF_PROXIES, ""}))
    if found.get("vary") == "":
        del found["vary"]
    if "content-type" in found:
        found["content-type"] = re.sub(r"\s*;\s*", "; ", found["content-type"].strip().lower())
    if "location" in found:
        path = re.sub(r"^https?://[^/]*", "", found["location"])
        found["location"] = path.removeprefix(mount)
    return found


def header_differences(
    theirs: ReceivedAnswer, mine: ReceivedAnswer, their_mount: str = "", my_mount: str = ""
) -> list[tuple[str, str, str]]:
    """Return which headers differ: name, their value, my value; ABSENT if there is none.

    :param their_mount: the path below which their service is mounted
    """
    others, ours = meaning_of(theirs, their_mount), meaning_of(mine, my_mount)
    if _is_of_the_answer(theirs) and _is_of_the_answer(mine):
        others["last-modified"] = ours["last-modified"]
    return [
        (f"header {name}", others.get(name, ABSENT), ours.get(name, ABSENT))
        for name in MATTERING
        if others.get(name) != ours.get(name)
    ]


def _is_of_the_answer(answer: ReceivedAnswer) -> bool:
    """Return whether last-modified is the date that the server says it is."""
    try:
        modified = parsedate_to_datetime(answer.headers.get("last-modified", ""))
        date = parsedate_to_datetime(answer.headers.get("date", ""))
        return abs((date - modified).total_seconds()) <= _AT_ONCE
    except (ValueError, TypeError, OverflowError):
        # no dates, or one of them without a time zone
        return False
