"""What writes to a tree cost those who claim of it: ``python -m benchmarks.contention``.

Two clients claim of a parent and its child, first alone, then beside clients that write the
providers themselves. One line for each database: claims in a second, what is left of them, the
median time of one, and the deadlocks that the database counted.
"""

import argparse
import concurrent.futures
import random
import statistics
import time
from collections.abc import Callable, Sequence

from tests.databases.mortal import mortal
from tests.faults import mixed
from tests.faults.running import Client, running

CLAIMERS = 2


def main() -> None:
    """Measure on PostgreSQL and MariaDB."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    seconds = parser.parse_args().seconds
    beside: dict[str, Sequence[mixed.Step]] = {
        "alone": (),
        "PUT of children": (mixed.keep_parent, mixed.keep_parent),
        "POST of children": (mixed.come_and_go, mixed.come_and_go),
        "everything": (*mixed.TREES, *mixed.REST),
    }
    for kind in ("postgresql", "mariadb"):
        alone = 0.0
        for name, steps in beside.items():
            with mortal(kind) as server:
                with running(server.url) as service:
                    mixed.make(service)
                    times, statuses = measure(service.path, steps, seconds)
                found = mixed.deadlocks(server.url)
            rate = len(times) / seconds
            alone = alone or rate
            print(
                f"{kind:10} {name:16} {rate:7.1f} claims/s  {rate / alone:5.2f} of alone  "
                f"median {statistics.median(times) * 1000:7.1f} ms  {found:4} deadlocks  "
                f"{dict(sorted(statuses.items()))}",
                flush=True,
            )


def measure(
    path: str, steps: Sequence[mixed.Step], seconds: float
) -> tuple[list[float], dict[int, int]]:
    """Seconds that each claim took, and how often each status was answered to anybody."""
    times: list[float] = []
    statuses: dict[int, int] = {}
    end = time.monotonic() + seconds

    def work(step: mixed.Step, first: int, took: Callable[[float], None]) -> None:
        client, chance, number = Client(path), random.Random(first), first
        while time.monotonic() < end:
            begun = time.perf_counter()
            for status in step(client, chance, number):
                took(time.perf_counter() - begun)
                statuses[status] = statuses.get(status, 0) + 1
                begun = time.perf_counter()
            number += 1

    with concurrent.futures.ThreadPoolExecutor(CLAIMERS + len(steps)) as pool:
        jobs = [pool.submit(work, mixed.claim, n * 10**6, times.append) for n in range(CLAIMERS)]
        jobs += [
            pool.submit(work, step, n * 10**6, lambda seconds: None)
            for n, step in enumerate(steps, CLAIMERS)
        ]
        for job in jobs:
            job.result()
    return times, statuses


if __name__ == "__main__":
    main()
