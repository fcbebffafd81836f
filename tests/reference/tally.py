"""Count requests and responses, to see how much a comparison covered."""

import collections
import re
from collections.abc import Iterator

from placement.compare.answers import ReceivedAnswer
from placement.routes import ROUTES
from tests.reference.script import Request

UNROUTED = "(no endpoint)"
VERSION_HEADER = "OpenStack-API-Version"
#: in the response to a search without candidates
NOTHING = b'"allocation_requests": []'
VERSION = re.compile(r"1\.(\d+)")
_PATTERNS = {path: re.compile(re.sub("<[a-z_]+>", "[^/]+", path)) for path in ROUTES}


class Tally:
    """Counts the reference's responses by endpoint and microversion."""

    def __init__(self) -> None:
        self._answers: collections.Counter[tuple[str, int | None, bool]] = collections.Counter()

    def count(self, request: Request, answer: ReceivedAnswer) -> None:
        """Count one response."""
        unversioned = request.version is None and VERSION_HEADER not in request.headers
        found = VERSION.fullmatch("1.0" if unversioned else request.version or "")
        minor = int(found[1]) if found else 39 if request.version == "latest" else None
        name = endpoint_of(request)
        if NOTHING in answer.body:
            name += " (found nothing)"
        self._answers[name, minor, 200 <= answer.status < 300] += 1

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        total = self._answers.total()
        yield f"{total} requests, {_share(self._answers)} of them granted"
        yield "By endpoint (requests, granted, microversions of granted ones):"
        for name in sorted({name for name, _, _ in self._answers}):
            some = self._where(lambda key, name=name: key[0] == name)
            minors = sorted({minor for _, minor, granted in some if granted and minor is not None})
            yield f"  {name:<62} {some.total():>6} {_share(some):>5}  {_ranges(minors)}"
        yield "By microversion (requests, granted):"
        for minor in sorted({minor for _, minor, _ in self._answers if minor is not None}):
            some = self._where(lambda key, minor=minor: key[1] == minor)
            yield f"  1.{minor:<4} {some.total():>6} {_share(some):>5}"

    def _where(self, wanted) -> collections.Counter[tuple[str, int | None, bool]]:
        return collections.Counter({k: n for k, n in self._answers.items() if wanted(k)})


def endpoint_of(request: Request) -> str:
    """Return method and path of a request's endpoint."""
    path = request.path.partition("?")[0]
    for rule, pattern in _PATTERNS.items():
        methods = {endpoint.method for endpoint in ROUTES[rule]}
        if pattern.fullmatch(path) and request.method in methods:
            return f"{request.method} {rule}"
    return UNROUTED


def _share(answers: collections.Counter[tuple[str, int | None, bool]]) -> str:
    granted = sum(number for (_, _, was_granted), number in answers.items() if was_granted)
    return f"{granted / max(1, answers.total()):.0%}"


def _ranges(numbers: list[int]) -> str:
    """Return ascending numbers in short form: `0-3, 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
