"""The rows of `benchmarks.rest_api`: which requests are sent, and what each should reach."""

import collections
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from benchmarks.rest_cloud import (
    BUSY,
    OWNER,
    TREE,
    RestCloud,
    generation,
    host,
    name_based,
    node,
    put_allocations,
)
from benchmarks.servers import Server

Request = Callable[[Server, int], object]
#: how a floor is made
NO_FLOOR, HELLO, SAME_BYTES, BY_HAND = "", "hello", "same bytes", "by hand"


def nothing(server: Server, number: int) -> None:
    """Send no request."""


@dataclasses.dataclass(frozen=True)
class Goal:
    """What a row should reach.

    :param ratio: how many times cheaper than the reference at least
    :param floor: how many times the floor at most
    :param whole: the ratio with rows at random and a connection for each request, on PostgreSQL
    :param inside: the ratio without a server around the service, on PostgreSQL
    :param most: milliseconds of processor time at most, without a server around the service
    """

    ratio: float | None = None
    floor: float | None = None
    whole: float | None = None
    inside: float | None = None
    most: float | None = None

    def __str__(self) -> str:
        shown = [] if self.ratio is None else [f"≥ {self.ratio:g}×"]
        return ", ".join(shown + ([] if self.floor is None else [f"≤ {self.floor:g}× floor"]))

    def reached(self, ratio: float | None, floor: float | None) -> bool:
        """Return whether a row with these figures reaches it."""
        enough = self.ratio is None or ratio is None or ratio >= self.ratio
        return enough and (self.floor is None or floor is None or floor <= self.floor)


@dataclasses.dataclass(frozen=True)
class Measure:
    """One row of the table.

    :param request: sends request number `n` to a server; a row may have several for each `n`
    :param repeats: number of requests per round
    :param slow: repeats on the reference if it is much slower
    :param paths: what is read; the floor returns the same bytes
    :param ours: what Berth is asked instead
    :param first: sends for each `n` what a round needs, before it begins
    """

    title: str
    goal: Goal
    request: Request
    repeats: int = 100
    slow: int | None = None
    floor: str = NO_FLOOR
    paths: Sequence[str] = ()
    ours: Request | None = None
    first: Request = nothing


#: a few candidates among all hosts
SEARCH = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:1024,DISK_GB:10&limit=10"


class Requests(Protocol):
    """The requests for single rows."""

    def reads(self, path: str) -> Request:
        """Return the request that reads a path with a `host` or a `consumer` in it."""

    def claim(self, server: Server, number: int) -> None:
        """Claim for a new consumer."""

    def replace(self, server: Server, number: int) -> None:
        """Write another amount for a consumer that has allocations."""

    def move(self, server: Server, number: int) -> None:
        """Hand the allocations of a consumer to a new one."""

    def doomed(self, server: Server, number: int) -> None:
        """Claim for a consumer that `delete` deletes."""

    def delete(self, server: Server, number: int) -> None:
        """Delete the allocations of a consumer."""

    def changed_search(self, server: Server, number: int) -> None:
        """Search after a claim on another host."""

    def put_inventories(self, server: Server, number: int) -> None:
        """Replace a host's inventories."""

    def put_traits(self, server: Server, number: int) -> None:
        """Replace one of two traits."""

    def put_aggregates(self, server: Server, number: int) -> None:
        """Replace one of two aggregates."""


class Story:
    """The requests for the same few rows, with their state for each server."""

    def __init__(self, cloud: RestCloud) -> None:
        self.cloud = cloud
        #: by server and by provider or consumer, the generation that the next request names
        self.generations: dict[tuple[str, str], int] = collections.defaultdict(int)

    def reads(self, path: str) -> Request:
        """Return the request that reads a path with the cloud's provider and consumer in it."""
        return get(path.format(host=self.cloud.provider, consumer=self.cloud.consumer))

    def claim(self, server: Server, number: int) -> None:
        """Claim for a new consumer, on one of many hosts."""
        resources = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
        target = host(1000 + number % max(1, self.cloud.hosts - 1000))
        put_allocations(server, name_based(f"claim-{number}"), target, resources, None)

    def replace(self, server: Server, number: int) -> None:
        """Write another amount for a consumer that has allocations."""
        key = (server.name, self.cloud.consumer)
        # the first generation is that after `Cloud.claim`
        self.cloud.claim(server, self.generations[key] + 1)
        self.generations[key] += 1

    def move(self, server: Server, number: int) -> None:
        """Hand the allocations of a consumer to a new one, as of an instance to its migration."""
        resources = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
        holder, heir = (name_based(f"moved-{n}") for n in (number, number + 1))
        if number == 0:
            put_allocations(server, holder, host(2), resources, None)
        body = {
            holder: {**OWNER, "allocations": {}, "consumer_generation": 1},
            heir: {
                **OWNER,
                "allocations": {host(2): {"resources": resources}},
                "consumer_generation": None,
            },
        }
        server.request("POST", "/allocations", body)

    def doomed(self, server: Server, number: int) -> None:
        """Claim for a consumer that `delete` deletes."""
        resources = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
        put_allocations(server, name_based(f"doomed-{number}"), host(4), resources, None)

    def delete(self, server: Server, number: int) -> None:
        server.request("DELETE", f"/allocations/{name_based(f'doomed-{number}')}")

    def changed_search(self, server: Server, number: int) -> None:
        """Search after a claim on another host."""
        put_allocations(server, name_based(f"elsewhere-{number}"), host(6), {"DISK_GB": 1}, None)
        server.get(SEARCH)

    def put_inventories(self, server: Server, number: int) -> None:
        stock = {
            "VCPU": {"total": 64 + number % 2, "allocation_ratio": 4.0},
            "MEMORY_MB": {"total": 262144, "reserved": 512},
            "DISK_GB": {"total": 4096},
        }
        self._put(server, host(1), "inventories", stock)

    def put_traits(self, server: Server, number: int) -> None:
        """Replace one of two traits."""
        traits = ["HW_CPU_X86_AVX2", f"HW_CPU_X86_{('SSE', 'SSE2')[number % 2]}"]
        self._put(server, host(3), "traits", traits)

    def put_aggregates(self, server: Server, number: int) -> None:
        """Replace one of two aggregates."""
        members = [self.cloud.aggregate, name_based(f"aggregate-{number % 2}")]
        self._put(server, host(5), "aggregates", members)

    def _put(self, server: Server, provider: str, kind: str, value: Any) -> None:
        # hosts begin at generation 3
        known = self.generations[server.name, provider] + 3
        body = {"resource_provider_generation": known, kind: value}
        server.request("PUT", f"/resource_providers/{provider}/{kind}", body)
        self.generations[server.name, provider] += 1


def prepare_reshape(server: Server, consumers: int = 200) -> None:
    """Create a host with that many consumers, and a child to move them to."""
    parent, child = name_based("reshaped"), name_based("reshaped-child")
    server.request("POST", "/resource_providers", {"name": "reshaped", "uuid": parent})
    body = {"name": "reshaped-child", "uuid": child, "parent_provider_uuid": parent}
    server.request("POST", "/resource_providers", body)
    stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1000}}}
    server.request("PUT", f"/resource_providers/{parent}/inventories", stock)
    for number in range(consumers):
        put_allocations(server, name_based(f"moving-{number}"), parent, {"VCPU": 1}, None)


def reshape(server: Server, number: int, consumers: int = 200) -> None:
    """Move consumers between a host and its child; even numbers there, odd ones back."""
    parent, child = name_based("reshaped"), name_based("reshaped-child")
    source, target = (parent, child) if number % 2 == 0 else (child, parent)
    vcpus = {"VCPU": {"total": 1000}}
    body = {
        "inventories": {
            provider: {
                "resource_provider_generation": generation(server, provider),
                "inventories": vcpus if provider == target else {},
            }
            for provider in (source, target)
        },
        "allocations": {
            name_based(f"moving-{consumer}"): OWNER
            | {
                "allocations": {target: {"resources": {"VCPU": 1}}},
                "consumer_generation": number + 1,
            }
            for consumer in range(consumers)
        },
    }
    server.request("POST", "/reshaper", body)


def get(*paths: str, **headers: str) -> Request:
    """Return the request that reads all of these."""

    def ask(server: Server, number: int) -> None:
        for path in paths:
            server.get(path, **headers)

    return ask


def tree_paths() -> list[str]:
    """Return what nova reads of a tree: its providers, and four things of each."""
    paths = [f"/resource_providers?in_tree={node(0)}"]
    for number in range(TREE):
        provider = f"/resource_providers/{node(number)}"
        for part in ("inventories", "aggregates", "traits", "allocations"):
            paths.append(f"{provider}/{part}")
    return paths


def measures(cloud: RestCloud, story: Requests | None = None) -> list[Measure]:
    """Return the rows of the table, with their goals.

    :param story: the requests for single rows; by default those for the same few
    """
    story = story or Story(cloud)
    search = (
        "resources=VCPU:1,MEMORY_MB:1024,DISK_GB:10&required=HW_CPU_X86_AVX2"
        f"&member_of={cloud.aggregate}"
    )
    usages = f"/usages?project_id={BUSY}"
    paths = tree_paths()
    tree = (
        f"/berth/v1/provider_trees?uuid={node(0)}&fields=inventories,traits,aggregates,allocations"
    )
    old = {"OpenStack_API_Version": "placement 1.9"}

    def write(title: str, request: Request, goal: Goal, floor: str = BY_HAND) -> Measure:
        return Measure(title, goal, request, 150, 50, floor)

    def single(title: str, goal: Goal, path: str) -> Measure:
        read = path.format(host=cloud.provider, consumer=cloud.consumer)
        return Measure(title, goal, story.reads(path), 200, None, SAME_BYTES, [read])

    def listed(title: str, goal: Goal, path: str, repeats: int, slow: int) -> Measure:
        return Measure(title, goal, get(path), repeats, slow, SAME_BYTES, [path])

    return [
        Measure("GET /", Goal(None, 2, 1.5, 8), get("/"), 300, floor=HELLO),
        write("PUT /allocations: claim", story.claim, Goal(8, 2.5, 10, 25)),
        write("PUT /allocations: replace", story.replace, Goal(8, 2.5, 12, 20)),
        write("POST /allocations: move", story.move, Goal(8, 2.5, 12, 20)),
        write("PUT …/inventories", story.put_inventories, Goal(5, 2.5, 8, 12)),
        write("PUT …/traits", story.put_traits, Goal(5, 2.5, 7, 12)),
        write("PUT …/aggregates", story.put_aggregates, Goal(5), NO_FLOOR),
        Measure(
            "DELETE /allocations",
            Goal(6, whole=6),
            story.delete,
            *(150, 50),
            first=story.doomed,
        ),
        single("GET a provider", Goal(4, None, 4.5, 15), "/resource_providers/{host}"),
        single("GET its usages", Goal(4.5, None, 4.5, 15), "/resource_providers/{host}/usages"),
        single("GET a consumer", Goal(5, None, 4.5, 20), "/allocations/{consumer}"),
        listed(
            f"GET providers, filtered, of {cloud.hosts:,}",
            Goal(100, 3, 121),
            f"/resource_providers?{search}",
            *(20, 3),
        ),
        listed(
            f"GET providers, all {cloud.hosts:,}",
            Goal(12, 2, 73),
            "/resource_providers",
            *(5, 2),
        ),
        # a goal of SQLite: there it is 0.8 of this
        Measure(f"GET usages of {cloud.busy:,} × 3", Goal(20, inside=25), get(usages), 30, 30),
        Measure(
            f"GET usages of {cloud.busy:,} × 3, version 1.9",
            Goal(20),
            get(usages, **old),
            *(30, 30),
        ),
        Measure(
            f"a tree of {TREE}, {len(paths)} requests",
            Goal(5, whole=8),
            get(*paths),
            *(10, 5, SAME_BYTES, paths),
        ),
        Measure(
            f"a tree of {TREE}, GET provider_trees; reference: {len(paths)}",
            Goal(5),
            get(*paths),
            *(100, 5, SAME_BYTES, [tree]),
            ours=get(tree),
        ),
        Measure("search, limit=10", Goal(20, most=0.4), get(SEARCH), 100, 2),
        Measure("a claim elsewhere, and the search", Goal(20), story.changed_search, 100, 2),
        Measure("POST /reshaper, 200 consumers", Goal(20), reshape, 10, 4),
    ]
