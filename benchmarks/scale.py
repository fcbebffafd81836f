"""What one request costs workers and database: ``python -m benchmarks.scale``.

Prints, for each kind of request, the processor time of the worker and of the database server, in a
cloud of hosts of three classes. One client sends one request at a time; so nothing waits, and a
busy machine changes little. On a Galera cluster the client's service uses one node, and the last
column is what each of the other nodes spends on the same writes. Then some clients claim at once,
from a provider each and from one provider: that shows what a hot row costs. doc/scale.rst makes a
plan of the figures.
"""

import argparse
import contextlib
import itertools
import random
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.claims import QUERY, fill, owner
from benchmarks.storms.databases import APPLIERS, DEPLOYED
from benchmarks.storms.figures import processor_time
from tests.databases.mortal import mortal
from tests.faults.running import Client, RunningService, running
from tests.galera.cluster import Cluster

CONSOLE = Console(width=120)
#: clients that claim at once
CROWD = 16
CLAIM = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
#: children of a host that starts
CHILDREN = 2

Request = tuple[str, str, Any]


class Servers(NamedTuple):
    """A database: its URL, the process that our service uses, and those of the other nodes."""

    url: str
    pid: int
    others: list[int]


class Requests:
    """The kinds of requests. Each method makes the next one; later kinds need what earlier did."""

    def __init__(self, hosts: int) -> None:
        self._hosts, self._random = hosts, random.Random(7)
        self._consumers: list[str] = []
        self._moved = self._read = self._freed = 0
        self._roots: list[str] = []

    def _new(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _holding(self, allocations: Any, generation: int | None = None) -> dict[str, Any]:
        return {"allocations": allocations, "consumer_generation": generation, **owner()}

    def claim(self) -> Request:
        """Claim three classes of any host."""
        self._consumers.append(self._new())
        host = str(uuid.UUID(int=self._random.randint(1, self._hosts) + (0xBE57 << 96)))
        body = self._holding({host: {"resources": CLAIM}})
        return "PUT", f"/allocations/{self._consumers[-1]}", body

    def read_consumer(self) -> Request:
        """Read what a consumer has."""
        self._read += 1
        return "GET", f"/allocations/{self._consumers[self._read % len(self._consumers)]}", None

    def free(self) -> Request:
        """Delete what a consumer has."""
        self._freed += 1
        return "DELETE", f"/allocations/{self._consumers[self._freed - 1]}", None

    def search(self) -> Request:
        """Search, with nothing written since the last search."""
        return "GET", f"/allocation_candidates?{QUERY}&limit=10", None

    def find_and_claim(self) -> Request:
        """Find and claim in one request."""
        body = {"query": QUERY, "consumers": [{"uuid": self._new(), **owner()}]}
        return "POST", "/berth/v1/claims", {**body, "strategy": "random"}

    def quota(self) -> Request:
        """Count what a project uses, as nova does at each boot."""
        return "GET", "/usages?project_id=p", None

    def start_host(self) -> Request:
        """Write the tree of a new host, as an agent does."""
        root, names = self._new(), [self._new() for _ in range(CHILDREN)]
        self._roots.append(root)
        stock = {"MEMORY_MB": {"total": 4096}, "DISK_GB": {"total": 100}}
        new: dict[str, Any] = {
            "generation": None,
            "inventories": stock,
            "traits": ["HW_CPU_X86_AVX"],
        }
        providers = {root: {**new, "name": root}}
        for name in names:
            child = {**new, "name": name, "parent_provider_uuid": root}
            providers[name] = {**child, "inventories": {"PCPU": {"total": 8}}}
        return "PUT", f"/berth/v1/provider_trees/{root}", {"providers": providers}

    def read_host(self) -> Request:
        """Read the tree of a host, as an agent does every five minutes."""
        self._read += 1
        root = self._roots[self._read % len(self._roots)]
        fields = "inventories,traits,aggregates"
        return "GET", f"/berth/v1/provider_trees?in_tree={root}&fields={fields}", None


def kinds(made: Requests) -> dict[str, Callable[[], Request]]:
    """Return the kinds of requests by their titles, in an order that they can be sent in."""
    return {
        "search, limit=10": made.search,
        "claim": made.claim,
        "GET of a consumer": made.read_consumer,
        "GET of a project's usages": made.quota,
        "DELETE of a consumer": made.free,
        "find and claim": made.find_and_claim,
        "a host of 3 providers starts": made.start_host,
        "such a host reads its tree": made.read_host,
    }


def send(client: Client, request: Request) -> None:
    """Send a request, which must succeed."""
    answer = client.request(*request)
    if answer.status >= 300:
        raise RuntimeError(f"{request}: {answer}")


def costs(service: RunningService, servers: Servers, given: argparse.Namespace) -> Iterator[list]:
    """Yield for each kind of request its title, and milliseconds of processor time."""
    groups = [service.workers(), [servers.pid], servers.others[:1]]
    made = Requests(given.hosts)
    for title, make in kinds(made).items():
        for _ in range(given.repeats // 10):
            send(service, make())
        before = [processor_time(pids) for pids in groups]
        for _ in range(given.repeats):
            send(service, make())
        used = [processor_time(pids) - then for pids, then in zip(groups, before, strict=True)]
        yield [title, *(f"{seconds / given.repeats * 1e3:.2f}" for seconds in used)]


def rush(service: RunningService, given: argparse.Namespace, count: int) -> float:
    """Let all clients claim at once from so many new providers; return the claims per second."""
    roots = [str(uuid.uuid4()) for _ in range(count)]
    for root in roots:
        send(service, ("POST", "/resource_providers", {"name": root, "uuid": root}))
        stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1_000_000}}}
        send(service, ("PUT", f"/resource_providers/{root}/inventories", stock))
    end = time.monotonic() + given.seconds

    def claim(number: int) -> int:
        allocations = {roots[number % count]: {"resources": {"VCPU": 1}}}
        body = {"allocations": allocations, "consumer_generation": None, **owner()}
        for done in itertools.count():
            if time.monotonic() > end:
                return done
            send(service, ("PUT", f"/allocations/{uuid.uuid4()}", body))
        raise AssertionError("unreachable: it counts without end")

    with ThreadPoolExecutor(CROWD) as pool:
        return sum(pool.map(claim, range(CROWD))) / given.seconds


@contextlib.contextmanager
def single(kind: str) -> Iterator[Servers]:
    """Yield one server of a kind."""
    with mortal(kind, *(DEPLOYED if kind == "postgresql" else ())) as server:
        yield Servers(server.url, server.pid, [])


@contextlib.contextmanager
def galera(kind: str) -> Iterator[Servers]:
    """Yield a cluster; our service uses its first node."""
    folder = Path(tempfile.mkdtemp(prefix="berth-", dir="/dev/shm"))
    cluster = Cluster(folder)
    try:
        cluster.start()
        first, *others = cluster.nodes
        first.ask("CREATE DATABASE berth")
        fill(first.url("berth"), 0)
        for node in cluster.nodes:
            node.apply_with(APPLIERS)
        yield Servers(first.url("berth"), first.pid or 0, [node.pid or 0 for node in others])
    finally:
        cluster.close()
        shutil.rmtree(folder)


DATABASES = {"postgresql": single, "mariadb": single, "galera": galera}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--database", choices=list(DATABASES), action="append", help="all if none")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=500, help="of each kind of request")
    parser.add_argument("--seconds", type=float, default=5, help="of the claims from one provider")
    given = parser.parse_args()
    for kind in given.database or DATABASES:
        with DATABASES[kind](kind) as servers:
            fill(servers.url, given.hosts)
            with running(servers.url, workers=1, threads=8) as service:
                shown = Table(f"{kind}: ms of processor time", "worker", "database", "other node")
                for row in costs(service, servers, given):
                    shown.add_row(*row)
                CONSOLE.print(shown)
                for count in (CROWD, 1):
                    rate = rush(service, given, count)
                    CONSOLE.print(f"{CROWD} clients, {count} providers: {rate:.0f} claims/s")


if __name__ == "__main__":
    main()
