"""What grows with the cloud, up to a million providers: ``python -m benchmarks.million``.

Fills PostgreSQL with trees of ten providers and twenty consumers each (`tree_clouds`), starts
``placement-api`` on it, and measures with each size: the time to the first answer of one worker and
of all, their memory (shared pages count once), searches, what a claim elsewhere adds to the next
search, what the audit adds, claims per second. ``--figures`` keeps the numbers for
``benchmarks.growth``, which draws them.
"""

import argparse
import bisect
import concurrent.futures
import contextlib
import json
import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.claims import KINDS, spent
from benchmarks.crowds import crowd
from benchmarks.tree_clouds import (
    NUMA,
    PHYSNET_A,
    PROVIDERS,
    RARE,
    RARE_EVERY,
    aggregate_uuid,
    fill,
    tree_uuid,
)
from placement.storage.database.engine import Database, DatabaseSettings
from tests.databases.mortal import mortal
from tests.faults.running import RunningService, eventually

Figures = dict[str, float]

_NUMA_VF = (
    f"resources=DISK_GB:20&resources_N=VCPU:2,MEMORY_MB:4096&required_N={NUMA}"
    f"&resources_V=SRIOV_NET_VF:1&required_V={PHYSNET_A}&same_subtree=_N,_V&group_policy=none"
)
#: searches by name
QUERIES = {
    "NUMA + VF, limit=10": f"{_NUMA_VF}&limit=10",
    "no groups, limit=10": "resources=VCPU:2,MEMORY_MB:4096,DISK_GB:20&limit=10",
    "2 GPUs apart, limit=10": "resources_A=VGPU:1&resources_B=VGPU:1&group_policy=isolate&limit=10",
    "an aggregate, limit=10": f"{_NUMA_VF}&member_of={aggregate_uuid(7)}&limit=10",
    "one tree": f"{_NUMA_VF}&in_tree={tree_uuid(7)}",
    "1 of 500 hosts, limit=10": f"{_NUMA_VF}&root_required={RARE}&limit=10",
    "nothing fits, limit=10": "resources_N=VCPU:32&limit=10",
    "NUMA + VF, limit=1000": f"{_NUMA_VF}&limit=1000",
}
FIRST = next(iter(QUERIES))
#: what a small cloud has no host for
FOR_MANY = "1 of 500 hosts, limit=10"
#: as a server of PostgreSQL with a cloud of that size has them
DEPLOYED = ("--autovacuum=on", "--shared_buffers=2GB")
#: transactions that are open for some time
_LONG = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND now() - xact_start > interval '150 ms'"
)
#: a search is beside an audit if there is one so many seconds before or after it begins
_BESIDE = 0.3
#: seconds until the service must serve: a million providers, on a busy machine
PATIENCE = 900
#: seconds between audits, as a service has them where nobody says otherwise
AUDIT_INTERVAL = 60
CLAIMS = ("POST claims, first", "GET limit=10, PUT")


def _path(query: str) -> str:
    return f"/allocation_candidates?{query}"


def _ms(seconds: float) -> float:
    return seconds * 1e3


def _quantile(times: list[float], part: float) -> float:
    return sorted(times)[min(int(len(times) * part), len(times) - 1)]


class Searcher:
    """One client whose connection stays open, so that one worker answers."""

    def __init__(self, service: RunningService) -> None:
        self._headers = service.headers() | {"content-type": "application/json"}
        self._connection = service.connect()

    def _send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def seconds(self, query: str) -> float:
        """Search; return how long it took.

        A worker that waits too long for the snapshot that another thread loads answers 503.
        """
        begun = time.perf_counter()
        status = 503
        while status == 503:
            status, body = self._send("GET", _path(query))
        assert status == 200, body
        return time.perf_counter() - begun

    def claim(self, query: str, source: random.Random) -> None:
        """Allocate one of the candidates of a search to a new consumer."""
        _, found = self._send("GET", _path(query))
        candidate = source.choice(found["allocation_requests"])
        owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
        body = {**candidate, **owner, "consumer_generation": None}
        consumer = f"{source.getrandbits(32):08x}-0000-4000-8000-{source.getrandbits(48):012x}"
        status, answer = self._send("PUT", f"/allocations/{consumer}", body)
        assert status in (204, 409), answer


def memory(service: RunningService) -> Figures:
    """Return the memory of all processes, where shared pages count once, and one's peak."""
    sizes = []
    for pid in (service.process.pid, *service.workers()):
        told = Path(f"/proc/{pid}/smaps_rollup").read_text()
        (size,) = re.findall(r"^Pss: +(\d+) kB", told, re.MULTILINE)
        sizes.append(int(size) / 1024)
    peaks = []
    for pid in service.workers():
        told = Path(f"/proc/{pid}/status").read_text()
        peaks.append(int(re.findall(r"^VmHWM:\s+(\d+) kB", told, re.MULTILINE)[0]) / 1024)
    return {"memory of all, MB": sum(sizes), "peak of a worker, MB": max(peaks)}


@contextlib.contextmanager
def started(
    url: str, workers: int, preload: bool = False, audit: int = 0
) -> Iterator[RunningService]:
    """Start the service; yield it as soon as its workers serve."""
    arguments = ["--preload"] if preload else []
    options: dict[str, Any] = {
        "BERTH__SNAPSHOT_AUDIT_INTERVAL": str(audit),
        "BERTH__BESIDE_REFERENCE": "never",
    }
    # short, because the length of a socket's path is limited
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        service = RunningService(url, Path(folder), workers, 8, arguments, **options)
        try:
            eventually(lambda: len(service.ready_workers()) == workers, service.said, PATIENCE)
            yield service
        finally:
            service.stop()


def start(service: RunningService, begun: float) -> Figures:
    """Search at all workers from the start on; return when one and when all had answered."""
    searchers = [Searcher(service) for _ in range(4 * len(service.workers()))]
    first = 0.0

    def search(searcher: Searcher) -> float:
        searcher.seconds(QUERIES[FIRST])
        return time.monotonic() - begun

    with concurrent.futures.ThreadPoolExecutor(len(searchers)) as pool:
        answered = list(pool.map(search, searchers))
        first = min(answered)
    return {"first answer, s": first, "all workers answered, s": max(answered)}


def searches(service: RunningService, rounds: int, trees: int) -> Figures:
    """Return the median time of each search, and the workers' processor time."""
    searcher = Searcher(service)
    found = {}
    for name, query in QUERIES.items():
        if name == FOR_MANY and trees < RARE_EVERY:
            continue
        searcher.seconds(query)
        before = spent(service.workers())
        times = [searcher.seconds(query) for _ in range(rounds)]
        found[f"{name}, ms"] = _ms(statistics.median(times))
        found[f"{name}, CPU ms"] = _ms(spent(service.workers()) - before) / rounds
    return found


def after_claims(service: RunningService, rounds: int) -> Figures:
    """Return what a claim through another connection adds to the next search."""
    source = random.Random(1)
    searchers = [Searcher(service) for _ in range(2)]
    quiet: list[float] = []
    after: list[float] = []
    processor = [0.0, 0.0]
    for searcher in searchers * 3:
        searcher.seconds(QUERIES[FIRST])
    for _ in range(rounds):
        searchers[1].claim(QUERIES[FIRST], source)
        for number, times in enumerate((after, quiet)):
            before = spent(service.workers())
            times.append(searchers[0].seconds(QUERIES[FIRST]))
            processor[number] += spent(service.workers()) - before
    added = statistics.median(after) - statistics.median(quiet)
    return {
        "a claim elsewhere adds, ms": _ms(added),
        "the same, CPU ms": _ms(processor[0] - processor[1]) / rounds,
    }


def beside_audits(service: RunningService, url: str, seconds: float) -> Figures:
    """Return what audits add to the 99th percentile of searches by two clients.

    Searches while no worker audits, of the same minutes, are what they are compared with: between
    two runs a machine differs by more than audits do. A client that waits asks nothing meanwhile,
    so a long wait shows in the longest alone.
    """
    end = time.monotonic() + seconds

    def search(searcher: Searcher) -> list[tuple[float, float]]:
        found = []
        while (begun := time.monotonic()) < end:
            found.append((begun, searcher.seconds(QUERIES[FIRST])))
            time.sleep(0.005)
        return found

    searchers = [Searcher(service) for _ in range(2)]
    for searcher in searchers:
        searcher.seconds(QUERIES[FIRST])
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        seen = pool.submit(_audits, url, end)
        timed = [one for part in pool.map(search, searchers) for one in part]
    audits = seen.result()

    def is_beside(begun: float) -> bool:
        place = bisect.bisect(audits, begun - _BESIDE)
        return place < len(audits) and audits[place] < begun + _BESIDE

    beside = [took for begun, took in timed if is_beside(begun)]
    alone = [took for begun, took in timed if not is_beside(begun)]
    every = beside + alone
    p99, p99_alone = _quantile(every, 0.99), _quantile(alone, 0.99)
    return {
        "p99 with audits, ms": _ms(p99),
        "p99 while there is none, ms": _ms(p99_alone),
        "p99 while there is one, ms": _ms(_quantile(beside, 0.99)) if beside else float("nan"),
        "audits move p99, %": (p99 / p99_alone - 1) * 100,
        "searches beside audits, %": len(beside) / len(every) * 100,
        "longest, ms": _ms(max(every)),
    }


def _audits(url: str, end: float) -> list[float]:
    """Return the times until an end at which a worker audited, about ten a second.

    Nobody writes meanwhile, so no other transaction takes that long.
    """
    found = []
    with contextlib.closing(Database(DatabaseSettings(url))) as database:
        while (now := time.monotonic()) < end:
            if database.read(lambda connection: connection.execute(_LONG).scalar()):
                found.append(now)
            time.sleep(0.1)
    return found


def claims(service: RunningService, seconds: float) -> Figures:
    """Return the claims per second of eight clients, and the workers' processor time for one."""
    found = {}
    for number, kind in enumerate(CLAIMS):
        before = spent(service.workers())
        seed = time.time_ns() % 1_000_000 + number
        count = len(crowd(service.path, KINDS[kind], 8, seed, seconds).times)
        found[f"{kind}, /s"] = count / seconds
        found[f"{kind}, CPU ms"] = _ms(spent(service.workers()) - before) / max(count, 1)
    return found


def measured(url: str, given: argparse.Namespace, trees: int) -> Iterator[Figures]:
    """Measure one cloud; yield figures as they come."""
    begun = time.monotonic()
    with started(url, given.workers, given.preload) as service:
        yield start(service, begun)
        everybody = [service.process.pid, *service.workers()]
        yield {"processor time until then, s": spent(everybody)}
        yield memory(service)
        yield searches(service, given.rounds, trees)
        yield after_claims(service, given.rounds)
        yield claims(service, given.seconds)
        yield {"memory after claims, MB": memory(service)["memory of all, MB"]}
    if not given.audit:
        return
    with started(url, 2, given.preload, audit=AUDIT_INTERVAL) as service:
        yield beside_audits(service, url, given.audit)


def table(found: dict[int, Figures]) -> Iterator[str]:
    """Yield a line for each figure: of each size, and the last size beside the first."""
    sizes = list(found)
    yield " | ".join([f"{'providers':28}", *(f"{size * PROVIDERS:>11,}" for size in sizes), "×"])
    for name in found[sizes[-1]]:
        values = [found[size].get(name, float("nan")) for size in sizes]
        times = values[-1] / values[0] if values[0] else float("nan")
        yield " | ".join([f"{name:28}", *(f"{value:11.2f}" for value in values), f"{times:.1f}"])


def main() -> None:
    """Measure each size on a PostgreSQL server of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--preload", action="store_true", help="load before the workers start")
    parser.add_argument("--rounds", type=int, default=100, help="searches of each kind")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round of claims")
    parser.add_argument(
        "--audit",
        type=float,
        default=0,
        help="seconds with audits beside searches; 0: skip it",
    )
    parser.add_argument("--figures", type=Path, help="a file that keeps the numbers, as JSON")
    given = parser.parse_args()
    found: dict[int, Figures] = {}
    for trees in given.trees:
        with mortal("postgresql", *DEPLOYED) as server:
            begun = time.monotonic()
            fill(server.url, trees)
            print(f"{trees * PROVIDERS:,} providers, made in {time.monotonic() - begun:.0f} s")
            found[trees] = {}
            for figures in measured(server.url, given, trees):
                found[trees] |= figures
                for name, value in figures.items():
                    print(f"  {name:28} {value:10.2f}", flush=True)
        if given.figures:
            given.figures.write_text(json.dumps(found, indent=2))
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
