"""What it costs to say how many more fit: 50 requests at once, beside one search.

    python -m benchmarks.capacity --work /tmp/benchmarks --hosts 10000 100000

Runs in this process, on the SQLite files of `benchmarks.candidates`: no HTTP, no other load.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.candidates import build, table
from benchmarks.clouds import NUMA_TRAIT, VF
from placement.candidates.cloud.free_amounts import FreeAmounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live import loading
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.search import search
from placement.extensions.capacity.count import Capacity
from placement.storage.database.engine import Database, DatabaseSettings
from tests.endless import endless

TITLES = ["50 requests", "one search ms", "50 capacities ms", "exact", "fits of the first"]
REQUESTS = 50
ROUNDS = 3
#: providers of a nested host
_NESTED = 7


def _plain(number: int) -> CandidateRequest:
    demand = {"VCPU": 1 + number % 10, "MEMORY_MB": 512 << number % 5, "DISK_GB": 20}
    return CandidateRequest((Group("", demand),))


def _near(number: int) -> CandidateRequest:
    groups = (
        Group("", {"DISK_GB": 10}),
        Group("_N", {"VCPU": 2, "MEMORY_MB": 1024 + number}, (frozenset([NUMA_TRAIT]),)),
        Group("_P", {VF: 1}),
        Group("_G", {"VGPU": 1}),
    )
    return CandidateRequest(groups, same_subtree=(frozenset(["_N", "_P", "_G"]),))


def _apart(number: int) -> CandidateRequest:
    groups = (Group("_A", {VF: 1}), Group("_B", {VF: 1}), Group("", {"VCPU": 1 + number % 8}))
    return CandidateRequest(groups, isolate=True)


def _unlike(number: int) -> CandidateRequest:
    groups = (Group("_A", {"VCPU": 2 + number % 3}), Group("_B", {"VCPU": 7}))
    return CandidateRequest(groups)


CASES: dict[str, tuple[str, Callable[[int], CandidateRequest]]] = {
    "flat hosts": ("flat", _plain),
    "nested hosts, no groups": ("nested", _plain),
    "nested hosts, same_subtree": ("nested", _near),
    "nested hosts, two equal devices apart": ("nested", _apart),
    "nested hosts, bin packing": ("nested", _unlike),
}


def milliseconds(task: Callable[[], object]) -> float:
    """Return the least time of a task."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        task()
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3


def line(title: str, snapshot: Snapshot, request: Callable[[int], CandidateRequest]) -> list[str]:
    """Return the figures of one kind of requests."""
    asked = [request(number) for number in range(REQUESTS)]

    def capacities() -> list[Capacity]:
        free = FreeAmounts(snapshot)
        return [
            Capacity(snapshot, one, endless(), endless(), endless(), free=free) for one in asked
        ]

    fits = [one.fits() for one in capacities()]
    return [
        title,
        f"{milliseconds(lambda: search(snapshot, asked[0], endless())):.1f}",
        f"{milliseconds(capacities):.0f}",
        f"{sum(one.exact for one in fits)} of {REQUESTS}",
        f"{fits[0].count:,}",
    ]


def main() -> None:
    """Run the measurements and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("/tmp/berth-benchmarks"))
    parser.add_argument("--hosts", type=int, nargs="+", default=[10_000])
    chosen = parser.parse_args()
    lines = []
    for hosts in chosen.hosts:
        for title, (kind, request) in CASES.items():
            size = hosts * (_NESTED if kind == "nested" else 1)
            database = Database(DatabaseSettings(f"sqlite:///{build(chosen.work, (kind, size))}"))
            snapshot = database.read(loading.load)
            database.close()
            lines.append(line(f"{hosts:,} {title}", snapshot, request))
    print(table(TITLES, lines))


if __name__ == "__main__":
    main()
