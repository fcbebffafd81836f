"""Run scripts on a pair of services: random ones, from a seed, or given ones."""

import dataclasses
import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence

from tests.reference.generator import Generator
from tests.reference.picture import Picture
from tests.reference.script import Request
from tests.reference.shrinking import shrunk
from tests.reference.starting import Bench
from tests.reference.tally import Tally

#: maximum number of scripts that are tried to find a shorter one
PATIENCE = 400
#: makes the next request from the contents of the databases; None to stop
Source = Callable[[Picture], Request | None]


@dataclasses.dataclass(frozen=True)
class Finding:
    """A script whose last request caused a difference in responses or databases.

    :param sent: the script as it was sent to the reference
    """

    script: tuple[Request, ...]
    sent: tuple[Request, ...]
    differences: tuple[str, ...]

    @property
    def kind(self) -> tuple[str, ...]:
        """A summary that is usually equal for differences with the same cause."""
        last = self.script[-1]
        parts = last.path.partition("?")[0].split("/")
        path = "/".join("*" if len(part) > 30 or "$" in part else part for part in parts)
        return (last.method, path, *sorted({_kind_of(line) for line in self.differences}))

    def __str__(self) -> str:
        lines = [request.as_curl() for request in self.sent]
        return "\n".join([*lines, "differs (reference / ours):", *self.differences])


def _kind_of(difference: str) -> str:
    if difference.startswith("status"):
        return difference
    return re.sub(r"^(\w+( [a-z-]+)?).*", r"\1", difference, flags=re.DOTALL)


def run(bench: Bench, script: Sequence[Request]) -> Finding | None:
    """Send the requests to a fresh pair, until the first difference."""
    requests = iter(script)
    return next(_findings(bench, lambda picture: next(requests, None)), None)


def explore(
    bench: Bench, seed: int, count: int, goes_on: bool = False, tally: Tally | None = None
) -> Iterator[Finding]:
    """Generate `count` requests and send them to a fresh pair.

    Stops at the first difference; with `goes_on`, only if the databases differ.

    :param tally: counts the responses
    """
    generator = Generator(random.Random(seed))
    left = iter(range(count))
    return _findings(
        bench,
        lambda picture: generator.next(picture) if next(left, None) is not None else None,
        goes_on,
        tally,
    )


def _findings(
    bench: Bench, source: Source, goes_on: bool = False, tally: Tally | None = None
) -> Iterator[Finding]:
    script: list[Request] = []
    sent: list[Request] = []
    with bench.pair() as pair:
        while (request := source(pair.picture)) is not None:
            script.append(request)
            sent.append(request.filled_in(pair.reference))
            differences = pair.send(request)
            if tally is not None and pair.answer is not None:
                tally.count(sent[-1], pair.answer)
            if differences:
                yield Finding(tuple(script), tuple(sent), tuple(differences))
                if not goes_on or pair.picture != pair.ours.picture:
                    return


def minimal(bench: Bench, finding: Finding) -> Finding:
    """Return the shortest script found that ends in a difference of the same kind."""
    best = finding
    tries = itertools.count()

    def still_differs(script: Sequence[Request]) -> bool:
        nonlocal best
        if next(tries) >= PATIENCE:
            return False
        again = run(bench, script)
        if again is None or again.kind != finding.kind:
            return False
        best = again
        return True

    shrunk(finding.script, still_differs)
    return best
