"""What it costs to say which moves make room for one flavor, in processor time.

    python -m benchmarks.plans --work /tmp/berth-benchmarks --hosts 10000

Runs in this process, on a SQLite file: no HTTP, no other load. Each host has 32 VCPU and 128 GiB of
memory, and six guests of several sizes that leave at most 4 VCPU. The flavors ask for more and
more.
"""

import argparse
import random
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import sqlalchemy as sa

from benchmarks.candidates import table
from benchmarks.clouds import PER_INSERT, Rows, config_for
from placement.app import open_database
from placement.candidates.budget import Budget
from placement.candidates.live.table_snapshot import TableSnapshot
from placement.candidates.request import CandidateRequest, Group
from placement.extensions.plans.room import WantedRoom, room
from placement.extensions.plans.terms import Movable, Terms
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.storage import tables
from placement.storage.database.engine import Database, DatabaseSettings

TITLES = ["flavor", "verdict", "exact", "moves", "trees looked at", "processor ms"]
FLAVORS = (4, 8, 10, 12, 16, 20, 24, 32, 33)
GUESTS = 6
SIZES = (2, 4, 4, 6, 8)
#: what the last guest of a host leaves free
FREE = (0, 1, 2, 3, 4)
#: seconds that a plan may take
LIMIT = 10.0
ROUNDS = 3


def nearly_full(source: random.Random) -> Iterator[tuple[int, int]]:
    """Yield the VCPU and the memory of the guests of a host, which leave at most 4 VCPU."""
    left = 32
    for guest in range(GUESTS):
        cores = min(source.choice(SIZES), left - 2 * (GUESTS - 1 - guest))
        if guest == GUESTS - 1:
            cores = max(left - source.choice(FREE), 2)
        left -= cores
        yield cores, cores * 4096


def build(
    work: Path,
    hosts: int,
    name: str = "plans",
    guests_of: Callable[[random.Random], Iterator[tuple[int, int]]] = nearly_full,
) -> Path:
    """Return a database with so many hosts, and the guests of each."""
    path = work / f"{name}-{hosts}.db"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    database, source, rows = open_database(config_for(path)), random.Random(hosts), Rows()
    with database.transaction() as connection:
        ids = dict(
            connection.execute(
                sa.select(tables.resource_classes.c.name, tables.resource_classes.c.id)
            ).all()
        )
        for number in (1, 2):
            owner = {"id": number, "external_id": str(number)}
            connection.execute(sa.insert(tables.projects), [owner])
            connection.execute(sa.insert(tables.users), [owner])
        connection.execute(sa.insert(tables.consumer_types), [{"id": 1, "name": "INSTANCE"}])
        for begin in range(0, hosts, PER_INSERT):
            guests = []
            for _ in range(min(PER_INSERT, hosts - begin)):
                host = rows.provider({ids["VCPU"]: 32, ids["MEMORY_MB"]: 131072})
                for cores, memory in guests_of(source):
                    consumer = str(uuid.UUID(int=source.getrandbits(128)))
                    rows.use(host, {ids["VCPU"]: cores, ids["MEMORY_MB"]: memory}, consumer)
                    guests.append(
                        {"uuid": consumer, "project_id": 1, "user_id": 1, "consumer_type_id": 1}
                    )
            rows.store(connection)
            connection.execute(sa.insert(tables.consumers), guests)
    database.close()
    return path


def line(database: Database, clouds: TableSnapshot, cores: int) -> list[str]:
    """Return the figures of one flavor."""
    request = CandidateRequest((Group("", {"VCPU": cores, "MEMORY_MB": cores * 4096}),))
    times = []
    for _ in range(ROUNDS):
        begin = time.thread_time()
        found = room(
            database,
            WhatIf(clouds, {}),
            WantedRoom(request),
            Terms(Movable()),
            lambda: Budget(LIMIT, None, clock=time.thread_time),
        )
        times.append(time.thread_time() - begin)
    moves = len(found.plan.moves) if found.plan else 0
    return [
        f"{cores} VCPU",
        found.verdict,
        "yes" if found.exact else "no",
        str(moves),
        f"{found.tried:,}",
        f"{min(times) * 1e3:.0f}",
    ]


def main() -> None:
    """Run the measurements and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("/tmp/berth-benchmarks"))
    parser.add_argument("--hosts", type=int, default=10_000)
    chosen = parser.parse_args()
    path = build(chosen.work, chosen.hosts)
    database = Database(DatabaseSettings(f"sqlite:///{path}"))
    clouds = TableSnapshot(database)
    clouds.current()
    print(table(TITLES, [line(database, clouds, cores) for cores in FLAVORS]))
    database.close()


if __name__ == "__main__":
    main()
