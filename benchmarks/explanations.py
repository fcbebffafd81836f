"""What it costs to explain an empty answer, beside the search that it explains.

    python -m benchmarks.explanations --work /tmp/benchmarks --sizes 10000

Runs in this process, on the SQLite files of `benchmarks.candidates`: no HTTP, no other load.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.candidates import build, table
from benchmarks.clouds import AGGREGATE, HOST_TRAIT, NUMA_TRAIT, VF
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live import loading
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.search import search
from placement.extensions.explain.explanation import explain
from placement.storage.database.engine import Database, DatabaseSettings
from tests.endless import endless

TITLES = ["request", "search ms", "message ms", "with relaxations ms", "relaxations"]
ROUNDS = 15
#: standard traits that no host of these clouds has
_TRAITS = tuple(f"HW_CPU_X86_AVX512{ending}" for ending in ("F", "BW", "CD", "DQ", "ER", "PF"))

#: standard traits that the request forbids and no host has
_FORBIDDEN = (
    "SSE",
    "SSE2",
    "SSE3",
    "SSE41",
    "SSE42",
    "MMX",
    "FMA3",
    "FMA4",
    "AESNI",
    "BMI",
    "BMI2",
)


def _flat(amount: int, traits: int = 0) -> CandidateRequest:
    """Return a request with 20 things to relax: amounts, traits and aggregates."""
    required = (frozenset([HOST_TRAIT]), *(frozenset([name]) for name in _TRAITS[:traits]))
    forbidden = frozenset(f"HW_CPU_X86_{name}" for name in _FORBIDDEN)
    demand = {"VCPU": 1, "MEMORY_MB": amount, "DISK_GB": 10}
    members = (frozenset([AGGREGATE]),)
    return CandidateRequest((Group("", demand, required, forbidden, members),))


def _nested() -> CandidateRequest:
    groups = (
        Group("", {"DISK_GB": 10}),
        Group("_N", {"VCPU": 2, "MEMORY_MB": 1 << 24}, (frozenset([NUMA_TRAIT]),)),
        Group("_P", {VF: 1}),
        Group("_G", {"VGPU": 1}),
    )
    return CandidateRequest(groups, same_subtree=(frozenset(["_N", "_P", "_G"]),))


def milliseconds(task: Callable[[], object]) -> float:
    """Return the median time of a task."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        task()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


def line(title: str, snapshot: Snapshot, request: CandidateRequest) -> list[str]:
    """Return the figures of one request."""
    found = explain(snapshot, request, endless())
    return [
        title,
        f"{milliseconds(lambda: search(snapshot, request, endless())):.2f}",
        f"{milliseconds(lambda: explain(snapshot, request, endless(), relaxations=False)):.1f}",
        f"{milliseconds(lambda: explain(snapshot, request, endless())):.1f}",
        str(len(found.relaxations)),
    ]


def main() -> None:
    """Run the measurements and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("/tmp/berth-benchmarks"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000])
    chosen = parser.parse_args()
    lines = []
    for size in chosen.sizes:
        for kind, cases in (
            ("flat", (("too much memory", _flat(1 << 24, 4)), ("a trait nobody has", _flat(1, 4)))),
            ("nested", (("too much memory", _nested()),)),
        ):
            database = Database(DatabaseSettings(f"sqlite:///{build(chosen.work, (kind, size))}"))
            snapshot = database.read(loading.load)
            for title, request in cases:
                lines.append(line(f"{kind} {size:,}, {title}", snapshot, request))
            database.close()
    print(table(TITLES, lines))


if __name__ == "__main__":
    main()
