"""Find and claim in one request, and in two: ``python -m benchmarks.claims``.

Clients claim hosts of a flat cloud on PostgreSQL until the time is over: with one ``POST
/berth/v1/claims``, and with the loop that clients need without it: ``GET /allocation_candidates``,
choose one, ``PUT /allocations``, and again after a 409. Kinds of clients take turns; the last line
of each is the median of its rounds, and of its ratios to the loops of the same round: other work on
the machine changes from round to round. At the end, 64 clients claim the last 64 places.
"""

import argparse
import collections
import functools
import json
import operator
import random
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import sqlalchemy as sa

from benchmarks.crowds import Deed, Seen, crowd
from placement.storage import tables
from placement.storage.database.engine import Connection, Database, DatabaseSettings
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind
from placement.storage.schema import readiness
from tests.databases.mortal import mortal
from tests.faults.running import running

QUERY = "resources=VCPU:2,MEMORY_MB:4096,DISK_GB:20"
STOCK = {"VCPU": 64, "MEMORY_MB": 262_144, "DISK_GB": 2_000}
SEQUENCE = "resource_providers_id_seq"
#: hosts per statement
AT_ONCE = 1_000


def owner() -> dict[str, str]:
    """Return what every claim says of its consumer."""
    return {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}


def one_step(strategy: str, source: random.Random) -> Deed:
    """Claim with one request; return whether it succeeded."""
    consumer = {"uuid": str(uuid.UUID(int=source.getrandbits(128), version=4)), **owner()}
    body = {"query": QUERY, "consumers": [consumer], "strategy": strategy}
    status, _ = yield "POST", "/berth/v1/claims", body
    return status == 200


def two_steps(limit: str, source: random.Random) -> Deed:
    """Claim as a client does without the extension; return whether it succeeded."""
    consumer = uuid.UUID(int=source.getrandbits(128), version=4)
    while True:
        _, content = yield "GET", f"/allocation_candidates?{QUERY}&limit={limit}", None
        found = json.loads(content)["allocation_requests"]
        if not found:
            return False
        body = {**source.choice(found), **owner(), "consumer_generation": None}
        status, _ = yield "PUT", f"/allocations/{consumer}", body
        if status == 204:
            return True


#: how a claim is made, by name: a function, whose parameter is chosen here
KINDS: dict[str, Callable[[random.Random], Deed]] = {
    "GET limit=1, PUT": functools.partial(two_steps, "1"),
    "GET limit=10, PUT": functools.partial(two_steps, "10"),
    "GET limit=1000, PUT": functools.partial(two_steps, "1000"),
    "POST claims, first": functools.partial(one_step, "first"),
    "POST claims, random": functools.partial(one_step, "random"),
    "POST claims, spread": functools.partial(one_step, "spread"),
    "POST claims, pack": functools.partial(one_step, "pack"),
}


def fill(url: str, hosts: int, places: int | None = None) -> None:
    """Make hosts; with `places`, only so many of them have room for one claim, others for none."""
    database = Database(DatabaseSettings(url))
    readiness.make_ready(database, True, True)
    roomy = range(1 if places is None else hosts - places + 1, hosts + 1)
    with database.transaction() as connection:
        for first in range(1, hosts + 1, AT_ONCE):
            _insert(connection, range(first, min(first + AT_ONCE, hosts + 1)), roomy, places)
        if connection.dialect.name == "postgresql":
            # its own ids follow those that were given here
            connection.execute(sa.text(f"ALTER SEQUENCE {SEQUENCE} RESTART {hosts + 1}"))
            connection.execute(sa.text("ANALYZE"))
    database.close()


def _insert(connection: Connection, ids: range, roomy: range, places: int | None) -> None:
    classes = dict(
        connection.execute(
            sa.select(tables.resource_classes.c.name, tables.resource_classes.c.id)
        ).all()
    )
    connection.execute(
        sa.insert(tables.resource_providers),
        [
            {
                "id": key,
                "uuid": str(uuid.UUID(int=key + (0xBE57 << 96))),
                "name": f"host {key}",
                "root_provider_id": key,
                "generation": 1,
            }
            for key in ids
        ],
    )
    rows = []
    for key in ids:
        vcpus = STOCK["VCPU"] if places is None else 2 if key in roomy else 1
        for name, total in {**STOCK, "VCPU": vcpus}.items():
            rows.append(
                {
                    "resource_provider_id": key,
                    "resource_class_id": classes[name],
                    "total": total,
                    "reserved": 0,
                    "min_unit": 1,
                    "max_unit": total,
                    "step_size": 1,
                    "allocation_ratio": 1.0,
                }
            )
    connection.execute(sa.insert(tables.inventories), rows)
    # as the service's own writes do: otherwise it searches as beside another service
    change_feed.record(connection, ids, ChangeKind.ROW | ChangeKind.INVENTORY)


def spent(pids: list[int]) -> float:
    """Return the seconds of processor time that all threads of processes have used."""
    tasks = [task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def line(name: str, seen: Seen, seconds: float, processor: float) -> tuple[float, str]:
    """Return the claims per second, and a line about one round."""
    rate = len(seen.times) / seconds
    return rate, (
        f"{name:22} {rate:7.1f} claims/s  p50 {seen.quantile(0.5) * 1e3:6.1f} ms  "
        f"p95 {seen.quantile(0.95) * 1e3:6.1f} ms  workers' CPU "
        f"{processor / max(len(seen.times), 1) * 1e3:5.2f} ms each  "
        f"{dict(sorted(seen.statuses.items()))}"
    )


def rounds(url: str, given: argparse.Namespace) -> Iterator[str]:
    """Run all kinds of clients in turn; yield a line for each round and the medians."""
    rates: dict[str, list[float]] = collections.defaultdict(list)
    with running(url, workers=given.workers, threads=8) as service:
        for _ in range(3 * given.workers):
            service.get(f"/allocation_candidates?{QUERY}&limit=1")
        for turn in range(given.rounds):
            for number, kind in enumerate(given.kinds or KINDS):
                before = spent(service.workers())
                seed = turn * 100 + number
                seen = crowd(service.path, KINDS[kind], given.clients, seed, given.seconds)
                used = spent(service.workers()) - before
                rate, text = line(kind, seen, given.seconds, used)
                rates[kind].append(rate)
                yield text
    loops = [kind for kind in rates if kind.startswith("GET")]
    for kind, found in rates.items():
        text = f"{kind:22} {statistics.median(found):7.1f} claims/s, median of {len(found)} rounds"
        for loop in () if kind in loops else loops:
            times = statistics.median(map(operator.truediv, found, rates[loop]))
            text += f"; {times:.1f} × {loop}"
        yield text


def last_places(url: str, given: argparse.Namespace) -> Iterator[str]:
    """Let clients claim one place each, all at once; there is exactly one place for each."""
    for kind in ("POST claims, first", "POST claims, random"):
        with running(url, workers=given.workers, threads=8) as service:
            begun = time.perf_counter()
            seed = time.time_ns() % 10_000
            seen = crowd(service.path, KINDS[kind], given.places, seed, most=1)
            took = time.perf_counter() - begun
        yield f"{kind}: {given.places} clients and places: {dict(seen.statuses)} in {took:.1f} s"
        database = Database(DatabaseSettings(url))
        with database.transaction() as connection:
            connection.execute(sa.delete(tables.allocations))
            connection.execute(sa.delete(tables.consumers))
        database.close()


def main() -> None:
    """Measure on PostgreSQL."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--places", type=int, default=64, help="clients on the last places")
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), help="just these")
    given = parser.parse_args()
    with mortal("postgresql") as server:
        fill(server.url, given.hosts)
        for text in rounds(server.url, given):
            print(text, flush=True)
    with mortal("postgresql") as server:
        fill(server.url, given.hosts, given.places)
        for text in last_places(server.url, given):
            print(text, flush=True)


if __name__ == "__main__":
    main()
