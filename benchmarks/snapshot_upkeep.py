"""The costs of a process for its snapshot of the cloud: load, check for changes, audit.

    python -m benchmarks.snapshot_upkeep --work /tmp/benchmarks --sizes 1000 10000

Runs in this process, on the SQLite files of `benchmarks.candidates`: no HTTP, no other load.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.candidates import build, table
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind

TITLES = ["hosts", "load ms", "search, no news µs", "search, one claim ms", "audit ms"]
#: number of repetitions of quick and slow operations; the median is shown
OFTEN, SELDOM = 2000, 5


def seconds(task: Callable[[], object]) -> float:
    """Return how long a task takes."""
    begin = time.perf_counter()
    task()
    return time.perf_counter() - begin


def line(path: Path, hosts: int) -> list[str]:
    """Return the figures of one cloud."""
    database = Database(DatabaseSettings(f"sqlite:///{path}", sqlite_synchronous=False))
    load = seconds(LiveSnapshot(database).current)
    live = LiveSnapshot(database, audit_interval=1e6, watch=lambda live: None)
    live.current()

    def after_a_claim() -> float:
        database.write(lambda connection: change_feed.record(connection, [1], ChangeKind.USAGE))
        return seconds(live.current)

    quiet = [seconds(live.current) for _ in range(OFTEN)]
    busy = [after_a_claim() for _ in range(OFTEN // 10)]
    audits = [seconds(live.audit_in_background) for _ in range(SELDOM)]
    database.close()
    middle = statistics.median
    return [
        f"{hosts:,}",
        f"{load * 1e3:.0f}",
        f"{middle(quiet) * 1e6:.0f}",
        f"{middle(busy) * 1e3:.2f}",
        f"{middle(audits) * 1e3:.0f}",
    ]


def main() -> None:
    """Run the selected measurements and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("/tmp/berth-benchmarks"))
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    given = parser.parse_args()
    lines = [line(build(given.work, ("flat", size)), size) for size in given.sizes]
    print(table(TITLES, lines))


if __name__ == "__main__":
    main()
