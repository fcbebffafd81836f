"""What a search pays for its look at the generations, while OpenStack Placement may write, too.

    python -m benchmarks.beside --url postgresql://… --hosts 10000

Fills an empty database, and asks two snapshots in turn: one that looks and one that doesn't. Runs
in this process, without HTTP.
"""

import argparse
import functools
import statistics
import uuid
from collections.abc import Callable

import sqlalchemy as sa

from benchmarks.candidates import table
from benchmarks.snapshot_upkeep import seconds
from placement.candidates.live.foreign_writers import ALWAYS, NEVER, OtherWriters
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.storage.database.engine import Connection, Database, DatabaseSettings
from placement.storage.schema import schema_upgrade
from placement.storage.tables import inventories, resource_providers

TITLES = ["hosts", "no look ms", "look ms", "× slower", "after a write of theirs ms"]
OFTEN, SELDOM = 200, 20
_AT_ONCE = 1000


def fill(database: Database, hosts: int) -> None:
    """Make hosts with one inventory each."""
    schema_upgrade.sync(database)
    for first in range(1, hosts + 1, _AT_ONCE):
        ids = range(first, min(first + _AT_ONCE, hosts + 1))
        database.write(functools.partial(_insert, ids))


def _insert(ids: range, connection: Connection) -> None:
    connection.execute(
        sa.insert(resource_providers),
        [
            {"id": key, "uuid": str(uuid.uuid4()), "name": f"host {key}", "root_provider_id": key}
            for key in ids
        ],
    )
    stock = {"resource_class_id": 0, "total": 64, "reserved": 0, "min_unit": 1, "max_unit": 64}
    stock |= {"step_size": 1}
    connection.execute(
        sa.insert(inventories),
        [{"resource_provider_id": key, "allocation_ratio": 1.0, **stock} for key in ids],
    )


def line(url: str, hosts: int) -> list[str]:
    """Return the figures for one database, which is empty."""
    database = Database(DatabaseSettings(url, sqlite_synchronous=False))
    fill(database, hosts)
    plain, looking = (LiveSnapshot(database, 0, OtherWriters(mode)) for mode in (NEVER, ALWAYS))
    for live in (plain, looking):
        live.current()
    pairs = [(seconds(plain.current), seconds(looking.current)) for _ in range(OFTEN)]
    without, with_look = (statistics.median(times) for times in zip(*pairs, strict=True))
    after = statistics.median(_after_a_write(database, looking.current) for _ in range(SELDOM))
    database.close()
    return [
        f"{hosts:,}",
        f"{without * 1e3:.2f}",
        f"{with_look * 1e3:.2f}",
        f"{with_look / without:.1f}",
        f"{after * 1e3:.1f}",
    ]


def _after_a_write(database: Database, search: Callable[[], object]) -> float:
    generation = resource_providers.c.generation
    raised = sa.update(resource_providers).where(resource_providers.c.id == 1)
    database.write(lambda c: c.execute(raised.values(generation=generation + 1)))
    return seconds(search)


def main() -> None:
    """Run the measurement and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="of an empty database")
    parser.add_argument("--hosts", type=int, default=10_000)
    given = parser.parse_args()
    print(table(TITLES, [line(given.url, given.hosts)]))


if __name__ == "__main__":
    main()
