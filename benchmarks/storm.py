"""A storm: all agents start, schedulers boot, and servers of the database are lost meanwhile.

    python -m benchmarks.storm --database galera --agents 3000 --instances 1500

Agents and schedulers are real report clients, in a few processes, against workers of
``placement-api`` on one PostgreSQL primary or on a Galera cluster of three nodes, each with a
service of its own. While the agents start, a server is killed and comes back. Later a node is
parted from the other nodes, and a server from everything. All of it happens in namespaces of the
network that the program makes for itself; so it needs root.

Every client writes down what was answered. At the end the database must have exactly that: nothing
lost, nothing doubled, nothing over capacity. A write whose outcome is unknown may be there or not,
but not in part. No answer is an error of the server but the 503s of promises.rst, and only services
whose server was in trouble may give them. The exit code is 1 if anything is wrong.
"""

import argparse
import contextlib
import dataclasses
import functools
import itertools
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from benchmarks.storms import agents, judging, schedulers
from benchmarks.storms.databases import KINDS, Site, Trouble, site
from benchmarks.storms.figures import by_kind, processor_time, table
from benchmarks.storms.recording import RecordedRequest, read
from tests.faults.running import RunningService, running
from tests.functional.placement.serving.programs import free_port

CONSOLE = Console(width=160)
#: after a trouble ended, a service may need so many seconds to notice it
GRACE = 1.0
#: wrong things that are shown
SHOWN = 20


@dataclasses.dataclass(frozen=True)
class Window:
    """A time, in seconds of the Unix time, and the service whose server was in trouble."""

    title: str
    begin: float
    end: float
    hit: int | None = None

    def has(self, asked: RecordedRequest) -> bool:
        """Return whether the request was under way during the window."""
        return asked.at < self.end + GRACE and asked.at + asked.took > self.begin


class Storm:
    """The processes of a storm over a database.

    :param given: the options
    :param folder: for the logs
    """

    def __init__(self, given: argparse.Namespace, place: Site, folder: Path) -> None:
        self._given, self._site, self._folder = given, place, folder
        self.windows: list[Window] = []

    def run(self, services: Sequence[RunningService]) -> None:
        """Let it all happen, until everybody has finished."""
        given = self._given
        urls = [f"http://127.0.0.1:{service.path}" for service in services]
        start = functools.partial(_process, services=urls, folder=self._folder)
        stopped, calm = multiprocessing.Event(), multiprocessing.Event()
        counter = multiprocessing.Value("i", 0)
        crowds, bookers, started = [], [], []
        for numbers in _shares(given.agents, given.processes):
            started.append(multiprocessing.Event())
            crowds.append(
                start(agents.run, numbers, given=given, has_started=started[-1], stopped=stopped)
            )
        for numbers in _shares(given.schedulers, given.processes):
            bookers.append(
                start(schedulers.run, numbers, seed=given.seed, counter=counter, stopped=calm)
            )
        begun = time.time()
        for process in (*crowds, *bookers):
            process.start()
        try:
            first, *later = self._site.troubles
            time.sleep(given.start_seconds / 2)
            self._suffer(first)
            for event in started:
                event.wait()
            self.windows.insert(0, Window("the agents start", begun, time.time()))
            CONSOLE.print(f"{given.agents:,} agents started in {time.time() - begun:.0f} s")
            for trouble in later:
                time.sleep(given.calm)
                self._suffer(trouble)
            self._measure(services)
            while counter.value < given.instances and _live(bookers):
                time.sleep(0.5)
        finally:
            calm.set()
            for process in bookers:
                process.join()
            stopped.set()
            for process in crowds:
                process.join()
        CONSOLE.print(f"{counter.value:,} instances were booted and deleted")
        failed = [process.name for process in (*crowds, *bookers) if process.exitcode]
        if failed:
            raise RuntimeError(f"processes of clients failed: {failed}")

    def _suffer(self, trouble: Trouble) -> None:
        begun = time.time()
        trouble.begin()
        time.sleep(self._given.trouble)
        back = time.time()
        trouble.end()
        now = time.time()
        self.windows.append(Window(trouble.title, begun, now, trouble.hit))
        CONSOLE.print(
            f"{trouble.title}: {back - begun:.0f} s; then {now - back:.1f} s until it is back"
        )

    def _measure(self, services: Sequence[RunningService]) -> None:
        """Print what a quiet time costs."""
        time.sleep(self._given.calm)
        workers = [pid for service in services for pid in service.workers()]
        servers = self._site.pids()
        begun, before = time.time(), [processor_time(workers), processor_time(servers)]
        time.sleep(self._given.calm)
        for who, then, pids in zip(
            ("workers", "the database"), before, (workers, servers), strict=True
        ):
            used = processor_time(pids) - then
            CONSOLE.print(f"in {self._given.calm:.0f} s {who} used {used:.1f} s of the processors")
        self.windows.append(Window("all is well again", begun, time.time()))

    def log(self) -> Iterator[RecordedRequest]:
        """Yield what the clients wrote down."""
        return read(sorted(self._folder.glob("*.log")))

    def wrong(self, services: Sequence[RunningService]) -> Iterator[str]:
        """Yield what isn't as promised."""
        for asked in self.log():
            hit = {one.hit for one in self.windows if one.has(asked)}
            refused = asked.status is None or asked.status >= 500
            if not judging.is_promised(asked) or (refused and asked.service not in hit):
                what = f"{asked.kind} {asked.status} at {asked.at:.1f}: {asked.text}"
                yield f"service {asked.service}: {what}"
        for path in self._folder.glob("*.unclear"):
            yield from path.read_text().splitlines()
        trees: dict[str, judging.Tree] = {}
        for path in self._folder.glob("*.json"):
            trees |= json.loads(path.read_text())
        cases = judging.cases_of(self.log())
        for number, url in enumerate(self._site.urls):
            for check in (
                judging.wrong_allocations(url, cases),
                judging.broken_rules(url),
                judging.wrong_trees(url, trees),
            ):
                yield from (f"server {number}: {what}" for what in check)
            with running(url, workers=1, PLACEMENT_DATABASE__SYNC_ON_STARTUP="false") as fresh:
                for search in judging.wrong_searches(services[number], fresh):
                    yield f"service {number}: a worker answers {search} unlike a new one"

    def show(self, services: Sequence[RunningService]) -> None:
        """Print times and answers, by kind of request and by window, and the retries."""
        log = list(self.log())
        CONSOLE.print(table("request", by_kind(log)))
        during = {one.title: [asked for asked in log if one.has(asked)] for one in self.windows}
        CONSOLE.print(table("while", {title: seen for title, seen in during.items() if seen}))
        for number, service in enumerate(services):
            CONSOLE.print(f"service {number} ran transactions again: {_retries(service)}")


def _retries(service: RunningService) -> dict[str, int]:
    page = service.probe("/metrics").body
    return {
        sample.labels["cause"]: int(sample.value)
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "placement_db_retries_total" and sample.value
    }


def _process(run: Callable[..., None], numbers: range, **named: Any) -> multiprocessing.Process:
    return multiprocessing.Process(target=run, args=(numbers,), kwargs=named)


def _live(processes: Sequence[Any]) -> bool:
    return any(process.is_alive() for process in processes)


def _shares(count: int, parts: int) -> list[range]:
    """Divide `0 … count - 1` into about equal ranges, none of them empty."""
    ends = [count * number // parts for number in range(parts + 1)]
    return [range(a, b) for a, b in itertools.pairwise(ends) if b > a]


def storm(given: argparse.Namespace, kind: str) -> int:
    """Run one storm and print what happened; return how many things are wrong."""
    CONSOLE.rule(kind)
    folder = Path(tempfile.mkdtemp(prefix="berth-storm-"))
    with contextlib.ExitStack() as stack:
        stack.callback(functools.partial(shutil.rmtree, folder, ignore_errors=True))
        place = stack.enter_context(site(kind, f"berth-{os.getpid()}"))
        workers = [len(share) for share in _shares(given.workers, len(place.urls))]
        services = [
            stack.enter_context(
                running(
                    url,
                    workers=count,
                    threads=given.threads,
                    port=free_port(),
                    PLACEMENT_DATABASE__SYNC_ON_STARTUP="false",
                )
            )
            for url, count in zip(place.urls, workers, strict=True)
        ]
        made = Storm(given, place, folder)
        made.run(services)
        made.show(services)
        wrong = list(made.wrong(services))
        if given.keep:
            logs = [service.log for service in services]
            for number, log in [*enumerate(logs), *enumerate(place.logs)]:
                shutil.copy(log, folder / f"{number}-{log.name}")
            shutil.copytree(folder, given.keep / kind, dirs_exist_ok=True)
    for line in wrong[:SHOWN]:
        CONSOLE.print(line, markup=False, highlight=False, soft_wrap=True)
    CONSOLE.print(
        f"{kind}: {len(wrong)} things are wrong" if wrong else f"{kind}: all is as promised"
    )
    return len(wrong)


def main() -> int:
    """Run the storms; return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storm", description=__doc__)
    add = parser.add_argument
    add("--database", choices=list(KINDS), action="append", help="both if not given")
    add("--agents", type=int, default=10_000)
    add("--instances", type=int, default=5_000, help="that are booted and deleted at least")
    add("--schedulers", type=int, default=64)
    add("--workers", type=int, default=4, help="of placement, divided among the servers")
    add("--threads", type=int, default=8, help="of each worker, and of each process of agents")
    add("--processes", type=int, default=2, help="of agents, and of schedulers")
    add("--start-seconds", type=float, default=60, help="in which all agents start")
    add("--pace", type=float, default=120, help="seconds between two changes of one host")
    add("--trouble", type=float, default=20, help="seconds that a server is away")
    add("--calm", type=float, default=10, help="seconds between two troubles")
    add("--seed", type=int, default=1, help="of what the schedulers do")
    add("--keep", type=Path, help="an existing folder for the logs")
    given = parser.parse_args()
    return int(sum(storm(given, kind) for kind in given.database or KINDS) > 0)


if __name__ == "__main__":
    sys.exit(main())
