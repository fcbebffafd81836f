"""`python -m benchmarks.rest_api`: what requests cost, Berth against OpenStack Placement.

Prints CPU milliseconds of the worker per request, and ratios. The services and the floor run side
by side, each request in turn on each, so that both see the same machine.
"""

import argparse
import contextlib
import dataclasses
import sqlite3
import uuid
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from benchmarks.servers import Server, berth, floor, reference, scratch_folder

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
#: resource class, total and allocation ratio of what every host has
STOCK = ((0, 64, 4.0), (1, 262144, 1.0), (2, 4096, 1.0))
OWNER = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}


def name_based(text: str) -> str:
    """The same uuid for the same text, on every service."""
    return str(uuid.uuid5(NAMESPACE, text))


@dataclasses.dataclass
class Measure:
    """One line of the table.

    :param request: performs the request number `n` on a server
    :param repeats: how often, per round
    """

    title: str
    target: str
    request: Callable[[Server, int], None]
    repeats: int = 100
    #: repeats on the reference, when it is much slower
    reference_repeats: int | None = None


def checked(server: Server, method: str, path: str, **more: object) -> object:
    """A request that must succeed; its body, if any."""
    response = server.request(method, path, **more)
    if not response.ok:
        raise RuntimeError(
            f"{server.name}: {method} {path}: {response.status_code} {response.text}"
        )
    return response.json() if response.content else None


def generation(server: Server, provider: str) -> int:
    """A provider's generation now."""
    body = checked(server, "GET", f"/resource_providers/{provider}")
    return body["generation"]  # type: ignore[index]


class Cloud:
    """Flat hosts with three classes; every tenth in an aggregate, every seventh with a trait."""

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.aggregate = name_based("aggregate")
        self.provider = name_based("host-0")
        self.consumer = name_based("consumer-0")

    def fill(self, server: Server) -> None:
        """Write the hosts into the service's database, whose tables are the same in both."""
        numbers = range(1, self.hosts + 1)
        now = "2026-01-01 00:00:00.000000"
        with contextlib.closing(sqlite3.connect(server.database, timeout=60)) as database, database:
            write = database.executemany
            write(
                "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id, "
                "created_at) VALUES (?, ?, ?, 3, ?, ?)",
                [(n, name_based(f"host-{n - 1}"), f"host-{n - 1}", n, now) for n in numbers],
            )
            write(
                "INSERT INTO inventories (resource_provider_id, resource_class_id, total, "
                "reserved, min_unit, max_unit, step_size, allocation_ratio, created_at) "
                "VALUES (?, ?, ?, 0, 1, ?, 1, ?, ?)",
                [
                    (n, class_id, total, total, ratio, now)
                    for n in numbers
                    for class_id, total, ratio in STOCK
                ],
            )
            database.execute(
                "INSERT INTO placement_aggregates (id, uuid) VALUES (1, ?)", [self.aggregate]
            )
            write(
                "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) "
                "VALUES (?, 1)",
                [(n,) for n in numbers if n % 10 == 1],
            )
            write(
                "INSERT INTO resource_provider_traits (trait_id, resource_provider_id) "
                "SELECT id, ? FROM traits WHERE name = 'HW_CPU_X86_AVX2'",
                [(n,) for n in numbers if n % 7 == 1],
            )
        self.claim(server, 0)

    def claim(self, server: Server, number: int) -> None:
        """PUT /allocations of one consumer, generation `number` (0: new)."""
        resources = {"VCPU": 1 + number % 2, "MEMORY_MB": 1024, "DISK_GB": 10}
        body = OWNER | {
            "allocations": {self.provider: {"resources": resources}},
            "consumer_generation": number or None,
        }
        checked(server, "PUT", f"/allocations/{self.consumer}", json=body)


class Story:
    """The requests, with the little state they need, per server."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self.consumer_generations: dict[str, int] = {}
        self.provider_generations: dict[str, int] = {}

    def put_allocations(self, server: Server, number: int) -> None:
        known = self.consumer_generations.get(server.name, 1)
        self.cloud.claim(server, known)
        self.consumer_generations[server.name] = known + 1

    def put_inventories(self, server: Server, number: int) -> None:
        host = name_based("host-1")
        known = self.provider_generations.get(server.name)
        if known is None:
            known = generation(server, host)
        stock = {
            "VCPU": {"total": 64 + number % 2, "allocation_ratio": 4.0},
            "MEMORY_MB": {"total": 262144, "reserved": 512},
            "DISK_GB": {"total": 4096},
        }
        body = {"resource_provider_generation": known, "inventories": stock}
        checked(server, "PUT", f"/resource_providers/{host}/inventories", json=body)
        self.provider_generations[server.name] = known + 1

    def search(self, server: Server, number: int) -> None:
        query = (
            "resources=VCPU:1,MEMORY_MB:1024,DISK_GB:10&required=HW_CPU_X86_AVX2"
            f"&member_of={self.cloud.aggregate}"
        )
        checked(server, "GET", f"/resource_providers?{query}")

    def reshape(self, server: Server, number: int) -> None:
        """Move 200 consumers between a host and its child, there and back."""
        reshape_consumers(server, number)


def prepare_reshape(server: Server, consumers: int = 200) -> None:
    """A host with that many consumers, and a child for them to move to."""
    host, child = name_based("reshaped"), name_based("reshaped-child")
    checked(server, "POST", "/resource_providers", json={"name": "reshaped", "uuid": host})
    body = {"name": "reshaped-child", "uuid": child, "parent_provider_uuid": host}
    checked(server, "POST", "/resource_providers", json=body)
    stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1000}}}
    checked(server, "PUT", f"/resource_providers/{host}/inventories", json=stock)
    for number in range(consumers):
        held = OWNER | {
            "allocations": {host: {"resources": {"VCPU": 1}}},
            "consumer_generation": None,
        }
        checked(server, "PUT", f"/allocations/{name_based(f'moving-{number}')}", json=held)


def reshape_consumers(server: Server, number: int, consumers: int = 200) -> None:
    """One reshape; even numbers move to the child, odd ones back."""
    host, child = name_based("reshaped"), name_based("reshaped-child")
    source, target = (host, child) if number % 2 == 0 else (child, host)
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
    checked(server, "POST", "/reshaper", json=body)


def measures(cloud: Cloud) -> list[Measure]:
    """The lines of the table, with what each is to reach."""
    story = Story(cloud)
    at_least = {1000: "10×", 10000: "50×"}.get(cloud.hosts, "")

    def get(path: str) -> Callable[[Server, int], None]:
        return lambda server, number: checked(server, "GET", path) and None

    return [
        Measure("GET /", "2× the floor", get("/"), 500),
        Measure(
            "GET /resource_providers/{uuid}",
            "4×",
            get(f"/resource_providers/{cloud.provider}"),
            300,
        ),
        Measure("GET /allocations/{consumer}", "5×", get(f"/allocations/{cloud.consumer}"), 300),
        Measure("PUT /allocations/{consumer}", "6×", story.put_allocations, 200, 100),
        Measure("PUT …/inventories", "4×", story.put_inventories, 200, 100),
        Measure(
            f"GET /resource_providers, filtered, of {cloud.hosts}", at_least, story.search, 40, 5
        ),
        Measure("POST /reshaper, 200 consumers", "20×", story.reshape, 10, 4),
    ]


def cost(server: Server, measure: Measure, repeats: int, rounds: int) -> float:
    """CPU milliseconds per request: the cheapest of some rounds."""
    costs, number = [], 0
    for _ in range(rounds):
        before = server.cpu()
        for _ in range(repeats):
            measure.request(server, number)
            number += 1
        costs.append((server.cpu() - before) / repeats * 1000)
    return min(costs)


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rest_api", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    cloud = Cloud(arguments.hosts)
    table = Table("request", "Berth, ms CPU", "reference, ms CPU", "ratio", "to reach")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        ours = stack.enter_context(berth(folder))
        theirs = stack.enter_context(reference(folder))
        hello = stack.enter_context(floor(folder))
        for server in (ours, theirs):
            cloud.fill(server)
            prepare_reshape(server)
        nothing = Measure("floor", "", lambda server, number: server.request("GET", "/") and None)
        lowest = cost(hello, nothing, 500, arguments.rounds)
        table.add_row("hello-world Flask route (the floor)", f"{lowest:.2f}", "", "", "")
        for measure in measures(cloud):
            mine = cost(ours, measure, measure.repeats, arguments.rounds)
            repeats = measure.reference_repeats or measure.repeats
            its = cost(theirs, measure, repeats, arguments.rounds)
            ratio = f"{its / mine:.1f}×"
            if measure.title == "GET /":
                ratio += f", {mine / lowest:.1f}× the floor"
            table.add_row(measure.title, f"{mine:.2f}", f"{its:.2f}", ratio, measure.target)
    Console().print(table)


if __name__ == "__main__":
    main()
