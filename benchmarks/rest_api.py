"""`python -m benchmarks.rest_api`: what requests cost, Berth against OpenStack Placement.

Prints milliseconds of processor time per request, of the worker and of its database server
together, and ratios. Each service has a worker and a database server of its own. They take turns
for each row, so that all run under the same load; the cheapest of some rounds counts.

The floor of a read is a Flask route that returns the same bytes, and that of a write the smallest
transaction by the driver itself behind a Flask route (`write_floor.py`).
"""

import argparse
import contextlib
import dataclasses
import functools
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import servers
from benchmarks.processor_time import DatabaseServer, NoServer
from benchmarks.rest_cloud import RestCloud
from benchmarks.rest_requests import (
    BY_HAND,
    HELLO,
    SAME_BYTES,
    Goal,
    Measure,
    Request,
    measures,
    nothing,
    prepare_reshape,
)
from benchmarks.servers import Server
from tests.databases.fixtures import COPIES, KINDS, MEMORY, ROOM
from tests.databases.fresh import SQLiteFiles
from tests.databases.mortal import mortal

#: PostgreSQL's own default, where the tests' servers have less
OPTIONS = {"postgresql": ("--shared_buffers=128MB",)}
BERTH, REFERENCE, WRITES, FLOOR = "berth", "reference", "writes", "floor"
COMPARED = (REFERENCE, FLOOR)
STARTS = ("start until the first answer, ms", "an idle worker, MiB")
Start = Callable[[], contextlib.AbstractContextManager[Server]]
TITLES = (
    *("request", "Berth", "worker", "database", "reference", "floor"),
    *("ratio", "× floor", "to reach", "reached"),
)


@dataclasses.dataclass(frozen=True)
class ProcessorCost:
    """Seconds of processor time of one request: of the worker, and of the database server."""

    worker: float
    database: float = 0.0

    @property
    def total(self) -> float:
        return self.worker + self.database


@dataclasses.dataclass
class MeasuredService:
    """A service or a floor, and the database server that only it uses."""

    server: Server
    database: DatabaseServer | NoServer
    ask: Request
    repeats: int
    first: Request = nothing
    asked: int = 0
    costs: list[ProcessorCost] = dataclasses.field(default_factory=list)

    def turn(self) -> None:
        """Send the requests of one round."""
        numbers = range(self.asked, self.asked + self.repeats)
        self.asked += self.repeats
        for number in numbers:
            self.first(self.server, number)
        worker, database = self.server.spent(), self.database.spent()
        for number in numbers:
            self.ask(self.server, number)
        costs = (self.server.spent() - worker, self.database.spent() - database)
        self.costs.append(ProcessorCost(*(spent / self.repeats for spent in costs)))

    @property
    def cost(self) -> ProcessorCost:
        """The cheapest round."""
        return min(self.costs, key=lambda cost: cost.total)


class Stand:
    """Where services run: their folder and, for each, an empty database.

    :param kind: the kind of database
    :param names: the services
    """

    def __init__(
        self,
        kind: str,
        folder: Path,
        stack: contextlib.ExitStack,
        names: Sequence[str] = (BERTH, REFERENCE, WRITES),
    ) -> None:
        self.folder = folder
        self.connections: dict[str, str] = {}
        self.databases: dict[str, DatabaseServer | NoServer] = {}
        for name in names:
            if kind == "sqlite":
                self.databases[name] = NoServer()
                files = folder / f"{name}-files"
                files.mkdir()
                new = stack.enter_context(SQLiteFiles(files).lent())
            else:
                server = stack.enter_context(mortal(kind, *OPTIONS.get(kind, ()))).server
                self.databases[name] = DatabaseServer(server)
                new = stack.enter_context(COPIES[kind](server).lent())
            # both services make their own tables
            self.connections[name] = new(empty=name != WRITES)

    def starts(self, interpreter: str) -> dict[str, Start]:
        """Return what starts each service.

        :param interpreter: the reference's
        """
        names, folder = self.connections, self.folder
        return {
            BERTH: lambda: servers.berth(names[BERTH], folder),
            REFERENCE: lambda: servers.reference(interpreter, names[REFERENCE], folder),
        }


def shown(milliseconds: float) -> str:
    """Return a time with as many digits as matter."""
    return f"{milliseconds:.2f}" if milliseconds < 100 else f"{milliseconds:.0f}"


def row(measure: Measure, found: dict[str, MeasuredService]) -> list[str]:
    """Return the cells of a row."""
    ours = found[BERTH].cost
    theirs, floor = (found[name].cost.total if name in found else None for name in COMPARED)
    ratio = None if theirs is None else theirs / ours.total
    above = None if floor is None else ours.total / floor
    cells = [ours.total, ours.worker, ours.database, theirs, floor]
    return [
        measure.title,
        *("" if seconds is None else shown(1000 * seconds) for seconds in cells),
        *("" if times is None else f"{times:.1f}×" for times in (ratio, above)),
        str(measure.goal),
        "" if measure.goal.reached(ratio, above) else "not reached",
    ]


def rows(
    stand: Stand, interpreter: str, cloud: RestCloud, rounds: int, only: str
) -> Iterator[list[str]]:
    """Measure all rows; yield their cells."""
    starts = stand.starts(interpreter)
    for name, start in starts.items():
        with start() as server:
            server.get("/")
        cloud.store(stand.connections[name])
    cloud.store(stand.connections[WRITES])
    if any(only in title for title in STARTS):
        yield from start_rows(starts, rounds)
    with contextlib.ExitStack() as stack:
        running = {name: stack.enter_context(start()) for name, start in starts.items()}
        hello = stack.enter_context(servers.floor(stand.folder))
        writes = stack.enter_context(servers.write_floor(stand.connections[WRITES], stand.folder))
        for server in running.values():
            cloud.plant(server)
            prepare_reshape(server)
            # lists and usages are asked of workers that also search
            server.get("/allocation_candidates?resources=VCPU:1&limit=1")
        for server in (*running.values(), writes):
            cloud.claim(server, 0)
        for measure in measures(cloud):
            if only in measure.title:
                yield row(measure, measured(measure, running, (hello, writes), stand, rounds))


def measured(
    measure: Measure,
    running: dict[str, Server],
    floors: tuple[Server, Server],
    stand: Stand,
    rounds: int,
) -> dict[str, MeasuredService]:
    """Let the services take turns; return them with their costs.

    :param floors: the one that returns files and the one that writes
    """
    hello, writes = floors
    found = services_of(measure, running, stand)
    if measure.floor == BY_HAND:
        floor = MeasuredService(writes, stand.databases[WRITES], measure.request, measure.repeats)
        found[FLOOR] = floor
    elif measure.floor in (HELLO, SAME_BYTES):
        paths = _files(measure, running[BERTH], stand.folder)
        ask = functools.partial(_read, paths)
        found[FLOOR] = MeasuredService(hello, NoServer(), ask, measure.repeats)
    take_turns(found, rounds)
    return found


def services_of(
    measure: Measure, running: Mapping[str, Any], stand: Stand
) -> dict[str, MeasuredService]:
    """Return what is asked of each running service in a round."""
    found = {}
    for name, server in running.items():
        ask, repeats = measure.ours or measure.request, measure.repeats
        if name == REFERENCE:
            ask, repeats = measure.request, measure.slow or repeats
        found[name] = MeasuredService(server, stand.databases[name], ask, repeats, measure.first)
    return found


def take_turns(found: dict[str, MeasuredService], rounds: int) -> None:
    """Let the services take turns; take the reference out if it fails."""
    for _ in range(rounds):
        for name in list(found):
            try:
                found[name].turn()
            except servers.Failed as failed:
                if name != REFERENCE:
                    raise
                # on PostgreSQL it fails at the usages of a project
                print(f"without the reference: {failed}", file=sys.stderr)
                del found[name]


def _files(measure: Measure, berth: Server, folder: Path) -> list[str]:
    """Store what Berth answers as files; return their paths at the floor."""
    names = []
    for number, path in enumerate(measure.paths or ["/"]):
        names.append(f"{abs(hash(measure.title))}-{number}")
        (folder / names[-1]).write_bytes(berth.get(path))
    return [f"/{name}" for name in names]


def _read(paths: list[str], server: Server, number: int) -> None:
    for path in paths:
        server.get(path)


@contextlib.contextmanager
def room() -> Iterator[Path]:
    """Make a folder for services and databases."""
    # nothing should wait for a disk, so in memory if there is room
    place = MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM else None
    with tempfile.TemporaryDirectory(prefix="berth-benchmark-", dir=place) as made:
        folder = Path(made)
        # database servers run as other users
        folder.chmod(0o755)
        yield folder


def start_rows(starts: dict[str, Start], rounds: int) -> Iterator[list[str]]:
    """Yield the rows of processor time until a first answer, and of a worker's memory then."""
    times: dict[str, list[float]] = {name: [] for name in starts}
    sizes: dict[str, list[float]] = {name: [] for name in starts}
    for _ in range(rounds):
        for name, start in starts.items():
            with start() as server:
                server.get("/")
                times[name].append(server.spent())
                sizes[name].append(server.memory())
    for title, unit, values in zip(STARTS, (1000.0, 2**-20), (times, sizes), strict=True):
        ours, theirs = (statistics.median(values[name]) for name in (BERTH, REFERENCE))
        goal = Goal(ratio=1)
        mine, other = (shown(value * unit) for value in (ours, theirs))
        ratio = theirs / ours
        reached = "" if goal.reached(ratio, None) else "not reached"
        yield [title, mine, "", "", other, "", f"{ratio:.2f}×", "", str(goal), reached]


def main() -> None:
    """Run the measurements and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rest_api", description=__doc__)
    parser.add_argument("--reference", required=True, help="Python with openstack-placement")
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only rows whose title contains this")
    given = parser.parse_args()
    table = Table(*TITLES, title=f"{given.database}, {given.hosts:,} hosts; ms of processor time")
    with contextlib.ExitStack() as stack:
        stand = Stand(given.database, stack.enter_context(room()), stack)
        for cells in rows(stand, given.reference, RestCloud(given.hosts), given.rounds, given.only):
            table.add_row(*cells)
            print("\t".join(cells), flush=True)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
