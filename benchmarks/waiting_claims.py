"""Claims whose tree somebody else has locked; the second part of ``benchmarks.contention``.

Sixteen clients claim of one tree, and two workers serve them. Four questions are asked:

- what a lock of 0.3 seconds costs claims two seconds after it, by the second;
- what others wait for while thirty claims wait for a tree: a claim of another tree, and a GET;
- how many claims of a sharing provider go through beside a writer of the traits of their tree;
- when a claim ends whose tree is locked for good.
"""

import concurrent.futures
import contextlib
import dataclasses
import itertools
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa

from tests.databases.mortal import mortal
from tests.faults.running import Client, running
from tests.functional.placement.small_cloud import numbered, stock

CLIENTS, WAITING = 16, 30
HOT, OTHER, POOL, ANCHOR, CALM = (numbered("a", number) for number in range(1, 6))
#: a trait of the anchor that its writer leaves there
STAYS = "HW_CPU_X86_MMX"
SHARING = "MISC_SHARES_VIA_AGGREGATE"
LOCK = sa.text("SELECT id FROM resource_providers WHERE uuid = :uuid FOR UPDATE")
#: transactions of the whole server, as it counts them
COUNTS = {
    "postgresql": "SELECT xact_commit + xact_rollback FROM pg_stat_database "
    "WHERE datname = current_database()",
    "mysql": "SELECT sum(variable_value) FROM information_schema.global_status "
    "WHERE variable_name IN ('COM_COMMIT', 'COM_ROLLBACK')",
}
_NUMBERS = itertools.count(1)


def measure(kind: str, seconds: float) -> None:
    """Print what the four questions show on one kind of database."""
    with (
        mortal(kind) as server,
        running(server.url, workers=2, threads=WAITING + 10) as service,
    ):
        cloud = HotTreeCloud(Client(service.path), _engine(server.url))
        cloud.make()
        print(f"{kind}: claims that wait", flush=True)
        after_a_lock(cloud, seconds)
        beside_those_that_wait(cloud)
        beside_a_writer(cloud, seconds)
        locked_for_good(cloud)


def _engine(url: str) -> sa.Engine:
    # of the drivers for MariaDB this is the one that tests have
    address = sa.make_url(url)
    is_mysql = address.get_backend_name() == "mysql"
    return sa.create_engine(address.set(drivername="mysql+pymysql") if is_mysql else address)


@dataclasses.dataclass
class HotTreeCloud:
    """A hot tree, another one, and a tree without storage that a pool serves."""

    client: Client
    engine: sa.Engine

    def make(self) -> None:
        """Create the trees."""
        for uuid in (HOT, OTHER, POOL, ANCHOR, CALM):
            self._well("POST", "/resource_providers", {"name": uuid, "uuid": uuid})
        for uuid in (HOT, OTHER, CALM):
            self._well("PUT", f"/resource_providers/{uuid}/inventories", stock(0, VCPU=10**6))
        self._well("PUT", f"/resource_providers/{POOL}/inventories", stock(0, DISK_GB=10**6))
        self._well("PUT", f"/resource_providers/{ANCHOR}/inventories", stock(0, VGPU=1))
        for uuid, traits in (
            (POOL, [SHARING]),
            (HOT, ["HW_CPU_X86_AVX"]),
            (OTHER, ["HW_CPU_X86_SSE"]),
            (CALM, ["HW_CPU_X86_SSE2"]),
            (CALM, ["HW_CPU_X86_SSE2"]),
            (ANCHOR, [STAYS]),
        ):
            self.set_traits(uuid, 1, traits)
        for uuid in (POOL, ANCHOR):
            path = f"/resource_providers/{uuid}/aggregates"
            generation = self.client.get(f"/resource_providers/{uuid}").body["generation"]
            body = {"aggregates": [numbered("e", 1)], "resource_provider_generation": generation}
            self._well("PUT", path, body)

    def _well(self, method: str, path: str, body: Any) -> None:
        answer = self.client.request(method, path, body)
        assert answer.status < 300, answer

    def set_traits(self, uuid: str, generation: int, traits: list[str]) -> int:
        """Set the traits of a provider; return its next generation, or -1."""
        body = {"resource_provider_generation": generation, "traits": traits}
        answer = self.client.put(f"/resource_providers/{uuid}/traits", body)
        return answer.body["resource_provider_generation"] if answer.status == 200 else -1

    def claim(self, query: str) -> int:
        """Claim for one new consumer; return the status."""
        consumer = numbered("c", next(_NUMBERS))
        owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
        body = {"query": query, "consumers": [{"uuid": consumer, **owner}]}
        return self.client.post("/berth/v1/claims", body).status

    @contextlib.contextmanager
    def locked(self, uuid: str) -> Iterator[None]:
        """Keep a provider locked meanwhile, as another program would."""
        with self.engine.begin() as connection:
            connection.execute(LOCK, {"uuid": uuid})
            yield

    def transactions(self) -> int:
        """Return how many transactions the server has ended."""
        with self.engine.connect() as connection:
            return int(connection.execute(sa.text(COUNTS[self.engine.dialect.name])).scalar_one())


HOT_QUERY = "resources=VCPU:1&required=HW_CPU_X86_AVX"
CALM_QUERY = "resources=VCPU:1&required=HW_CPU_X86_SSE2"
OTHER_QUERY = "resources=VCPU:1&required=HW_CPU_X86_SSE"
POOL_QUERY = f"resources=DISK_GB:1&root_required={STAYS}"


class Claimers:
    """Clients that claim one thing after the other, as long as it is used."""

    def __init__(self, cloud: HotTreeCloud, query: str) -> None:
        self._cloud, self._query = cloud, query
        self._ended = threading.Event()
        self.done: list[tuple[float, float]] = []
        self.refused = 0
        self._pool = concurrent.futures.ThreadPoolExecutor(CLIENTS)

    def __enter__(self) -> "Claimers":
        self._jobs = [self._pool.submit(self._work) for _ in range(CLIENTS)]
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for job in self._jobs:
            job.result()
        self._pool.shutdown()

    def _work(self) -> None:
        while not self._ended.is_set():
            begun = time.monotonic()
            if self._cloud.claim(self._query) == 200:
                self.done.append((begun, time.monotonic()))
            else:
                self.refused += 1

    def during(self, cloud: HotTreeCloud, seconds: float) -> tuple[float, float]:
        """Return claims a second, and transactions a claim, in the next seconds."""
        before, done = cloud.transactions(), len(self.done)
        time.sleep(seconds)
        claims = len(self.done) - done
        return claims / seconds, (cloud.transactions() - before) / max(claims, 1)


def after_a_lock(cloud: HotTreeCloud, seconds: float) -> None:
    """Print rates without a lock, and from two seconds after a lock of 0.3 seconds.

    Each is measured with a tree of its own: what a tree holds makes claims of it dearer.
    """
    with Claimers(cloud, CALM_QUERY) as claimers:
        time.sleep(4.3)
        without = claimers.during(cloud, seconds)
    with Claimers(cloud, HOT_QUERY) as claimers:
        time.sleep(2)
        with cloud.locked(HOT):
            time.sleep(0.3)
        at_once = claimers.during(cloud, 2)
        after = claimers.during(cloud, seconds)
    print(f"  a lock of 0.3 s: {_shown(without)} without it, {_shown(at_once)} in the 2 s after it")
    print(f"                   {_shown(after)} then ({after[0] / without[0]:.2f} of the rate)")


def _shown(measured: tuple[float, float]) -> str:
    return f"{measured[0]:6.1f} claims/s with {measured[1]:4.2f} transactions each"


def beside_those_that_wait(cloud: HotTreeCloud) -> None:
    """Print how long others wait while many claims wait for a locked tree."""
    with concurrent.futures.ThreadPoolExecutor(WAITING) as pool:
        with cloud.locked(HOT):
            waiting = [pool.submit(cloud.claim, HOT_QUERY) for _ in range(WAITING)]
            time.sleep(2)
            claims = [_seconds(lambda: cloud.claim(OTHER_QUERY)) for _ in range(5)]
            reads = [
                _seconds(lambda: cloud.client.get(f"/resource_providers/{OTHER}")) for _ in range(5)
            ]
        begun = time.monotonic()
        statuses = sorted({job.result() for job in waiting})
    print(
        f"  while {WAITING} wait: another tree's claim {max(claims):.2f} s, a GET {max(reads):.2f} "
        f"s (the longest of 5); then all end in {time.monotonic() - begun:.2f} s with {statuses}"
    )


def _seconds(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def beside_a_writer(cloud: HotTreeCloud, seconds: float) -> None:
    """Print the rate of claims of a pool, alone and beside a writer of the anchor's traits."""
    with Claimers(cloud, POOL_QUERY) as claimers:
        time.sleep(1)
        alone = claimers.during(cloud, seconds)
        ended, waits = threading.Event(), []

        def write() -> None:
            generation = cloud.client.get(f"/resource_providers/{ANCHOR}").body["generation"]
            for number in itertools.count():
                if ended.is_set():
                    return
                begun = time.monotonic()
                traits = [STAYS, "HW_CPU_X86_AVX2"][: 1 + number % 2]
                generation = cloud.set_traits(ANCHOR, generation, traits)
                waits.append(time.monotonic() - begun)
                assert generation > 0

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            writer = pool.submit(write)
            beside = claimers.during(cloud, seconds)
            ended.set()
            writer.result()
        refused = claimers.refused
    print(
        f"  beside a writer of traits: {_shown(beside)}, {_shown(alone)} alone, {refused} refused;"
    )
    print(
        f"                   {len(waits) / seconds:.0f} writes/s, "
        f"median {statistics.median(waits) * 1000:.0f} ms, longest {max(waits):.2f} s",
        flush=True,
    )


def locked_for_good(cloud: HotTreeCloud) -> None:
    """Print when a claim ends whose tree stays locked."""
    found: list[int] = []
    with cloud.locked(HOT):
        seconds = _seconds(lambda: found.append(cloud.claim(HOT_QUERY)))
    print(f"  locked for good: a claim ends after {seconds:.1f} s with {found[0]}", flush=True)
