"""How much writes to a tree slow down allocations from it: ``python -m benchmarks.contention``.

Two clients allocate from a parent and its child: alone, beside clients that write the providers of
the same trees, and beside the same clients when they write other trees. The last two use the
machine in the same way, so the difference between them is the waiting for locks. The difference
between the last and the first is the load of the machine. Rounds are short and take turns; medians
are shown.

A second part measures claims that wait for a tree (``waiting_claims.py``); ``--part`` chooses one.
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import json
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import waiting_claims
from tests.databases.mortal import mortal
from tests.faults import mixed
from tests.faults.running import NO_ANSWER, Answer, Client, running
from tests.functional.placement.small_cloud import numbered

CLAIMERS = 2
LOADS: dict[str, Sequence[mixed.Step]] = {
    "PUT of children": (mixed.keep_parent, mixed.keep_parent),
    "POST of children": (mixed.come_and_go, mixed.come_and_go),
    "both": (mixed.keep_parent, mixed.keep_parent, mixed.come_and_go, mixed.come_and_go),
    "everything": (*mixed.TREES, *mixed.REST),
}
#: which trees are written while clients allocate
NONE, OTHER, SAME = "alone", "other trees", "same trees"


class Elsewhere(Client):
    """Sends its requests to other providers: each provider is replaced by another one."""

    def request(self, method: str, path: str, body: Any = None, version: str = "1.39") -> Answer:
        changed = json.loads(_elsewhere(json.dumps(body)))
        return super().request(method, _elsewhere(path), changed, version)


def _elsewhere(text: str) -> str:
    for number in range(1, 5):
        text = text.replace(numbered("d", number), numbered("9", number))
    return text


@dataclasses.dataclass
class ContentionRound:
    """The results of two allocating clients in one period."""

    seconds: float
    times: list[float] = dataclasses.field(default_factory=list)
    statuses: dict[int | str, int] = dataclasses.field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Allocations per second."""
        return len(self.times) / self.seconds

    def count(self, status: int | str) -> None:
        self.statuses[status] = self.statuses.get(status, 0) + 1


def main() -> None:
    """Measure on PostgreSQL and MariaDB."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=5, help="of each load")
    parser.add_argument("--database", choices=("postgresql", "mariadb"), help="just this one")
    parser.add_argument("--part", choices=("writes", "waiting"), help="just this one")
    given = parser.parse_args()
    for kind in ("postgresql", "mariadb") if given.database is None else (given.database,):
        if given.part != "writes":
            waiting_claims.measure(kind, given.seconds)
        if given.part == "waiting":
            continue
        with mortal(kind) as server:
            # a thread for each client, so that no client waits for another one's thread
            with running(server.url, workers=2, threads=8) as service:
                mixed.make(service)
                mixed.make(Elsewhere(service.path))
                found = measure(service.path, given.rounds, given.seconds)
            report(kind, found, mixed.deadlocks(server.url))


def measure(
    path: str | int, rounds: int, seconds: float
) -> dict[tuple[str, str], list[ContentionRound]]:
    """Return the rounds of each load, by its name and the written trees; loads take turns."""
    cases: list[tuple[str, str, Sequence[mixed.Step]]] = [("", NONE, ())]
    for name, steps in LOADS.items():
        cases += [(name, OTHER, steps), (name, SAME, steps)]
    found: dict[tuple[str, str], list[ContentionRound]] = {
        (name, where): [] for name, where, _ in cases
    }
    numbers = itertools.count(1)
    # the first round is a warm-up
    for turn in range(rounds + 1):
        for name, where, steps in cases:
            client = Client(path) if where == SAME else Elsewhere(path)
            seen = one_round(Client(path), client, steps, seconds, numbers)
            if turn:
                found[name, where].append(seen)
    return found


def one_round(
    claimer: Client,
    writer: Client,
    steps: Sequence[mixed.Step],
    seconds: float,
    numbers: Iterator[int],
) -> ContentionRound:
    """Allocate for so many seconds, beside one writer for each step."""
    seen = ContentionRound(seconds)
    end = time.monotonic() + seconds

    def work(client: Client, step: mixed.Step, number: int) -> None:
        chance = random.Random(number)
        while time.monotonic() < end:
            begun = time.perf_counter()
            try:
                for status in step(client, chance, number):
                    if step is mixed.claim:
                        seen.times.append(time.perf_counter() - begun)
                    seen.count(status)
                    begun = time.perf_counter()
            except NO_ANSWER as error:
                seen.count(type(error).__name__)
            number += 1

    with concurrent.futures.ThreadPoolExecutor(CLAIMERS + len(steps)) as pool:
        jobs = [(claimer, mixed.claim)] * CLAIMERS + [(writer, step) for step in steps]
        begun = [pool.submit(work, who, step, next(numbers) * 10**4) for who, step in jobs]
        for one in begun:
            one.result()
    return seen


def report(kind: str, found: dict[tuple[str, str], list[ContentionRound]], deadlocks: int) -> None:
    """Print a line for each load: medians of the rounds, and ratios."""
    rates = {
        case: statistics.median(seen.rate for seen in rounds) for case, rounds in found.items()
    }
    alone = rates["", NONE]
    print(f"{kind}: {alone:.1f} claims/s alone, {deadlocks} deadlocks in all")
    for name in LOADS:
        other, same = rates[name, OTHER], rates[name, SAME]
        times = [took for seen in found[name, SAME] for took in seen.times] or [float("inf")]
        statuses: dict[str, int] = {}
        for seen in found[name, SAME]:
            for status, count in seen.statuses.items():
                statuses[str(status)] = statuses.get(str(status), 0) + count
        ratio = same / other if other else float("nan")
        print(
            f"  {name:16} other trees {other:6.1f}/s ({other / alone:4.2f} of alone)  same trees "
            f"{same:6.1f}/s ({same / alone:4.2f} of alone, {ratio:4.2f} of other trees)  "
            f"median {statistics.median(times) * 1000:6.1f} ms, longest {max(times):5.2f} s  "
            f"{dict(sorted(statuses.items()))}",
            flush=True,
        )


if __name__ == "__main__":
    main()
