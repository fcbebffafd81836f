"""A long run: workers serve while everything comes and goes, and nothing may grow.

    python -m benchmarks.soak --minutes 60 --providers 100000

Fills a database with providers and runs workers of ``placement-api`` on it, with their audits.
Clients create and delete names, providers and consumers, and ask about them (``soaks/churn.py``).
After a time to warm up, the program looks at each worker again and again. At the end no worker may
have 3 % more memory than at the beginning, nor more open files than its pool of connections can
explain; the change feed must be trimmed, and all other tables must have as many rows as before. The
last quarter's times are shown beside the first one's. The exit code is 1 if anything has grown.
"""

import argparse
import array
import contextlib
import multiprocessing
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.claims import fill
from benchmarks.soaks.churn import Round, Unexpected
from benchmarks.soaks.workers import FEED, Worker, rows, worker
from benchmarks.storms.databases import DEPLOYED
from benchmarks.storms.figures import percentile
from placement.storage.feed.change_feed import KEPT, TRIM_EVERY
from placement.storage.tables import change_lanes, provider_changes
from tests.databases.mortal import mortal
from tests.faults.running import NO_ANSWER, Client, RunningService, running

CONSOLE = Console(width=140)
KINDS = ("write", "search", "read")
#: how many times as much memory a worker may have at the end
MOST_GROWTH = 1.03
#: connections that a pool keeps (SQLAlchemy's default), each with a file
POOL = 5
PARTS = 4


class Sample(NamedTuple):
    """The workers at a time (of the monotonic clock), by process id."""

    at: float
    workers: dict[int, Worker]


def churn(number: int, clients: int, path: str | int, folder: Path, ended: Any, calm: Any) -> None:
    """Be a process of clients: run rounds until `ended`; while `calm` is set, begin none.

    :param number: of the process's first client; the other clients are in other processes
    """
    client, seen = Client(path), array.array("d")
    rounds, wrong = number, folder / f"{number}.wrong"
    while not ended.is_set():
        if calm.is_set():
            (folder / f"{number}.calm").touch()
            time.sleep(0.1)
            continue
        (folder / f"{number}.calm").unlink(missing_ok=True)
        begun = time.monotonic()
        try:
            for kind in Round(client.request, rounds, random.Random(rounds)).steps():
                now = time.monotonic()
                seen.extend((float(KINDS.index(kind)), now, now - begun))
                begun = now
        except (Unexpected, *NO_ANSWER) as failure:
            with wrong.open("a") as lines:
                lines.write(f"round {rounds}: {failure}\n")
        rounds += clients
    with (folder / f"{number}.times").open("wb") as file:
        seen.tofile(file)


class Soak:
    """Clients of a service, and what was seen of its workers."""

    def __init__(self, url: str, service: RunningService, given: argparse.Namespace) -> None:
        self._url, self._service, self._given = url, service, given
        self.samples: list[Sample] = []
        self.rows: list[dict[str, int]] = []
        self.quiet: list[Sample] = []

    def run(self, folder: Path) -> None:
        """Let clients churn: warm up, be quiet, churn for the given time, be quiet again."""
        given = self._given
        ended, calm = multiprocessing.Event(), multiprocessing.Event()
        processes = [
            multiprocessing.Process(
                target=churn,
                args=(number, given.clients, self._service.path, folder, ended, calm),
            )
            for number in range(given.clients)
        ]
        for process in processes:
            process.start()
        try:
            time.sleep(given.warm_up * 60)
            self._look_when_quiet(folder, calm)
            end = time.monotonic() + given.minutes * 60
            while time.monotonic() < end:
                time.sleep(given.interval)
                self.samples.append(self._sample())
            self._look_when_quiet(folder, calm)
        finally:
            ended.set()
            for process in processes:
                process.join()

    def _look_when_quiet(self, folder: Path, calm: Any) -> None:
        calm.set()
        while len(list(folder.glob("*.calm"))) < self._given.clients:
            time.sleep(0.1)
        # closed connections are noticed within a second
        time.sleep(3)
        self.quiet.append(self._sample())
        self.rows.append(rows(self._url))
        calm.clear()

    def _sample(self) -> Sample:
        return Sample(time.monotonic(), {pid: worker(pid) for pid in self._service.workers()})

    def wrong(self) -> Iterator[str]:
        """Yield what has grown."""
        before, after = self.quiet
        if before.workers.keys() != after.workers.keys():
            yield f"workers were replaced: {sorted(before.workers)}, {sorted(after.workers)}"
            return
        for pid, (first, last) in self.memory().items():
            if last > first * MOST_GROWTH:
                yield f"worker {pid} grew from {first / 1e6:.1f} to {last / 1e6:.1f} MB"
        for pid, now in after.workers.items():
            if now.files > before.workers[pid].files + POOL:
                yield f"worker {pid} had {before.workers[pid].files} files open, now {now.files}"
            if now.threads > before.workers[pid].threads:
                yield f"worker {pid} has {now.threads} threads, not {before.workers[pid].threads}"
        writers = self._given.workers * self._given.threads
        yield from grown_tables(self.rows[0], self.rows[1], KEPT, TRIM_EVERY, writers)

    def memory(self) -> dict[int, tuple[float, float]]:
        """Return the resident bytes by worker: medians of the first and of the last tenth."""
        some = max(1, len(self.samples) // 10)
        found = {}
        for pid in self.samples[0].workers:
            seen = [one.workers[pid].memory for one in self.samples if pid in one.workers]
            found[pid] = (statistics.median(seen[:some]), statistics.median(seen[-some:]))
        return found

    def tables(self, folder: Path) -> Iterator[Table]:
        """Yield tables of the workers, and of the times by quarter."""
        shown = Table("worker", "MB", "MB at the end", "growth %", "most MB", "files", "at the end")
        for pid, (first, last) in self.memory().items():
            most = max(one.workers[pid].memory for one in self.samples if pid in one.workers)
            files = [str(one.workers[pid].files) for one in self.quiet if pid in one.workers]
            sizes = (first / 1e6, last / 1e6, (last / first - 1) * 100, most / 1e6)
            shown.add_row(str(pid), *(f"{size:.1f}" for size in sizes), *files)
        yield shown
        begin, end = self.quiet[0].at, self.samples[-1].at
        shown = Table("p50 / p99 ms", *(f"quarter {n + 1}" for n in range(PARTS)))
        for kind, times in _times(folder, begin, end).items():
            shown.add_row(kind, *(_shown(part) for part in times))
        yield shown
        shown = Table("table", "rows", "at the end")
        for name, count in self.rows[0].items():
            shown.add_row(name, f"{count:,}", f"{self.rows[1][name]:,}")
        yield shown


def grown_tables(
    before: Mapping[str, int], after: Mapping[str, int], kept: int, trim_every: int, writers: int
) -> Iterator[str]:
    """Yield the tables that have more rows than they may have.

    :param kept: rows that the change feed keeps
    :param trim_every: rows of one lane after which it is trimmed
    :param writers: transactions that can write at the same time; each has a lane
    """
    feed, lanes = after[provider_changes.name], after[change_lanes.name]
    if lanes > max(before[change_lanes.name], writers):
        yield f"the feed has {lanes} lanes for {writers} writers"
    if feed > kept + (lanes + 1) * trim_every:
        yield f"the feed has {feed} rows, in {lanes} lanes"
    for name, count in after.items():
        if name not in FEED and count != before[name]:
            yield f"{name} had {before[name]} rows, now {count}"


def _times(folder: Path, begin: float, end: float) -> dict[str, list[list[float]]]:
    """Return the times of the answers by kind and by part of the time, sorted."""
    found: dict[str, list[list[float]]] = {kind: [[] for _ in range(PARTS)] for kind in KINDS}
    for path in folder.glob("*.times"):
        # threes of a kind's number, a time and how long the answer took
        numbers = array.array("d")
        numbers.frombytes(path.read_bytes())
        for kind, at, took in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
            part = int((at - begin) / (end - begin) * PARTS)
            if at >= begin and part < PARTS:
                found[KINDS[int(kind)]][part].append(took)
    return {kind: [sorted(part) for part in parts] for kind, parts in found.items()}


def _shown(times: Sequence[float]) -> str:
    if not times:
        return "–"
    half, most = (percentile(times, part) * 1e3 for part in (0.5, 0.99))
    return f"{half:.1f} / {most:.0f}, {len(times):,} answers"


def fill_caches(service: Client, workers: int) -> None:
    """List all providers so often that each worker has filled what it keeps of them."""
    threads = [
        threading.Thread(target=service.get, args=("/resource_providers",))
        for _ in range(4 * workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> int:
    """Run; return 1 if anything has grown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, default=60)
    add("--warm-up", type=float, help="minutes; a tenth of the others, at least 2, if not given")
    add("--providers", type=int, default=100_000)
    add("--database", choices=("postgresql", "mariadb"), default="postgresql")
    add("--workers", type=int, default=2)
    add("--threads", type=int, default=4, help="of each worker")
    add("--clients", type=int, default=4, help="processes that each send one request at a time")
    add("--interval", type=float, default=5, help="seconds between two looks at the workers")
    given = parser.parse_args()
    if given.warm_up is None:
        given.warm_up = max(2, given.minutes / 10)
    options = DEPLOYED if given.database == "postgresql" else ()
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="berth-soak-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        url = stack.enter_context(mortal(given.database, *options)).url
        fill(url, given.providers)
        service = stack.enter_context(
            running(
                url,
                workers=given.workers,
                threads=given.threads,
                BERTH__SNAPSHOT_AUDIT_INTERVAL="60",
            )
        )
        fill_caches(service, given.workers)
        soak = Soak(url, service, given)
        soak.run(folder)
        for table in soak.tables(folder):
            CONSOLE.print(table)
        wrong = [*soak.wrong(), *_told(folder)]
    for line in wrong[:20]:
        CONSOLE.print(line, markup=False, soft_wrap=True)
    CONSOLE.print(f"{len(wrong)} things are wrong" if wrong else "nothing has grown")
    return int(bool(wrong))


def _told(folder: Path) -> Iterator[str]:
    for path in folder.glob("*.wrong"):
        yield from path.read_text().splitlines()


if __name__ == "__main__":
    sys.exit(main())
