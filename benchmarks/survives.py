"""What it costs to say which losses of hosts can be absorbed, in processor time.

    python -m benchmarks.survives --work /tmp/berth-benchmarks --hosts 10000

Runs in this process, on a SQLite file: no HTTP, no other load. Each host has 32 VCPU and 128 GiB of
memory, and six guests. In the first cloud all hosts hold the same. In the second one, guests have
one of four flavors, by lot. In the last one no two guests hold the same, so that nothing is alike.
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from benchmarks.candidates import table
from benchmarks.plans import build
from placement.candidates.budget import Budget
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live.table_snapshot import TableSnapshot
from placement.extensions.evacuation.given_requests import given_requests
from placement.extensions.plans.terms import Terms
from placement.extensions.survives.operation import Question, survives
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.microversions import NEWEST
from placement.storage import tables
from placement.storage.database.engine import Connection, Database, DatabaseSettings

T = TypeVar("T")


class Loaded(TableSnapshot):
    """The cloud, loaded once: a service is told what changed."""

    def at_once(self, question: Callable[[Connection, Snapshot], T]) -> tuple[Snapshot, T]:
        """Return the cloud as it was loaded, and the answer to a question."""
        cloud = self.current()
        return cloud, self._database.read(lambda connection: question(connection, cloud))


TITLES = ["guests", "asked", "verdict", "losses", "absorbed", "unknown", "processor s"]
GUESTS = 6
#: seconds that an answer may take
LIMIT = 60.0
#: for how many guests a request is given at most
MOST_NAMED = 10_000


def equal(source: random.Random) -> Iterator[tuple[int, int]]:
    """Yield the VCPU and the memory of the guests of a host, which are those of every host."""
    for cores in (2, 2, 4, 4, 4, 8):
        yield cores, cores * 4096


def of_flavors(source: random.Random) -> Iterator[tuple[int, int]]:
    """Yield guests of four flavors."""
    for _ in range(GUESTS):
        cores = source.choice((1, 2, 4, 8))
        yield min(cores, 5), cores * 2048


def unlike(source: random.Random) -> Iterator[tuple[int, int]]:
    """Yield guests of which hardly two hold the same."""
    for _ in range(GUESTS):
        yield source.randint(1, 4), source.randint(1024, 16384)


CLOUDS: dict[str, Callable[[random.Random], Iterator[tuple[int, int]]]] = {
    "equal": equal,
    "flavors": of_flavors,
    "unlike": unlike,
}


def requests_of(database: Database) -> dict[str, str]:
    """Return a query for each of some consumers: none is that of another."""
    held, classes = tables.allocations.c, tables.resource_classes.c
    question = (
        sa.select(held.consumer_id, held.used)
        .join(tables.resource_classes, held.resource_class_id == classes.id)
        .where(classes.name == "MEMORY_MB")
        .order_by(held.id)
        .limit(MOST_NAMED)
    )
    rows = database.read(lambda connection: connection.execute(question).all())
    return {
        consumer: f"resources=VCPU:1,MEMORY_MB:{memory % 7000 + number % 3 + 1}"
        for number, (consumer, memory) in enumerate(rows)
    }


def line(database: Database, clouds: TableSnapshot, name: str, asked: dict[str, str]) -> list[str]:
    """Return the figures of one cloud."""
    begin = time.thread_time()
    found = survives(
        lambda uuids: {},
        WhatIf(clouds, {}),
        Question(terms=Terms(requests=given_requests(asked, NEWEST))),
        lambda: Budget(LIMIT, None, clock=time.thread_time),
    )
    spent = time.thread_time() - begin
    return [
        name,
        f"{len(asked):,}",
        found.verdict,
        f"{found.sets:,}",
        f"{found.absorbed:,}",
        f"{found.unknown:,}",
        f"{spent:.2f}",
    ]


def lines(work: Path, hosts: int) -> Iterator[list[str]]:
    """Yield the lines of the table."""
    for name, guests in CLOUDS.items():
        path = build(work, hosts, f"survives-{name}", guests)
        database = Database(DatabaseSettings(f"sqlite:///{path}"))
        clouds = Loaded(database)
        clouds.current()
        yield line(database, clouds, name, {})
        if name == "unlike":
            yield line(database, clouds, name, requests_of(database))
        database.close()


def main() -> None:
    """Run the measurements and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("/tmp/berth-benchmarks"))
    parser.add_argument("--hosts", type=int, default=10_000)
    chosen = parser.parse_args()
    print(table(TITLES, list(lines(chosen.work, chosen.hosts))))


if __name__ == "__main__":
    main()
