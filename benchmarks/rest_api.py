"""`python -m benchmarks.rest_api`: the costs of requests, Berth against OpenStack Placement.

Prints CPU milliseconds of the worker per request, and ratios. The services and the floor run side
by side and take turns for each request, so that all run under the same load.
"""

import argparse
import contextlib
import dataclasses
import json
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
from rich.console import Console
from rich.table import Table

from benchmarks.servers import Server, berth, floor, reference
from placement.storage.engine import Connection, Database, DatabaseSettings
from tests.databases.fixtures import COPIES, KINDS
from tests.databases.fresh import Databases, SQLiteFiles
from tests.databases.keeper import join

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
NEW_HOST = (
    "INSERT INTO resource_providers (uuid, name, generation, created_at) "
    "VALUES (:uuid, :name, 3, :now)"
)
#: rows after the hosts: hosts are their own roots and have 64 VCPU, 256 GB of memory and 4 TB of
#: disk; some are in an aggregate, some have a trait
FURTHER_ROWS = (
    "UPDATE resource_providers SET root_provider_id = id WHERE root_provider_id IS NULL",
    # a host's inventories have adjacent ids, as when hosts report
    "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, "
    "min_unit, max_unit, step_size, allocation_ratio, created_at) "
    "SELECT p.id, s.class_id, s.total, 0, 1, s.total, 1, s.ratio, :now FROM resource_providers p, "
    "(SELECT 0 AS class_id, 64 AS total, 4.0 AS ratio UNION ALL SELECT 1, 262144, 1.0 "
    "UNION ALL SELECT 2, 4096, 1.0) s ORDER BY p.id, s.class_id",
    "INSERT INTO placement_aggregates (uuid) VALUES (:aggregate)",
    "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) "
    "SELECT p.id, a.id FROM resource_providers p, placement_aggregates a WHERE p.name LIKE '%0'",
    "INSERT INTO resource_provider_traits (trait_id, resource_provider_id) "
    "SELECT t.id, p.id FROM resource_providers p, traits t "
    "WHERE t.name = 'HW_CPU_X86_AVX2' AND p.id % 7 = 1",
)
OWNER = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}


def name_based(text: str) -> str:
    """Return the same uuid for the same text, for every service."""
    return str(uuid.uuid5(NAMESPACE, text))


@dataclasses.dataclass
class Measure:
    """One line of the table.

    :param request: sends request number `n` to a server
    :param repeats: number of requests per round
    """

    title: str
    target: str
    request: Callable[[Server, int], object]
    repeats: int = 100
    #: repeats on the reference if it is much slower
    reference_repeats: int | None = None


def generation(server: Server, provider: str) -> int:
    """Return a provider's current generation."""
    return json.loads(server.get(f"/resource_providers/{provider}"))["generation"]


class Cloud:
    """Flat hosts with three classes; every tenth in an aggregate, every seventh with a trait."""

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.aggregate = name_based("aggregate")
        self.provider = name_based("host-0")
        self.consumer = name_based("consumer-0")

    def fill(self, server: Server, connection: str) -> None:
        """Write the hosts into the service's database, whose tables are the same in both."""
        now = "2026-01-01 00:00:00"
        made = [
            {"uuid": name_based(f"host-{n}"), "name": f"host-{n}", "now": now}
            for n in range(self.hosts)
        ]

        def write(database: Connection) -> None:
            database.execute(sa.text(NEW_HOST), made)
            for statement in FURTHER_ROWS:
                given = {"aggregate": self.aggregate, "now": now}
                asked = sa.text(statement)
                database.execute(asked, {name: given[name] for name in asked.compile().params})

        settings = DatabaseSettings(connection)
        with contextlib.closing(Database(settings)) as database:
            database.write(write)
        self.claim(server, 0)

    def claim(self, server: Server, number: int) -> None:
        """PUT /allocations of one consumer at generation `number` (0: new)."""
        resources = {"VCPU": 1 + number % 2, "MEMORY_MB": 1024, "DISK_GB": 10}
        body = OWNER | {
            "allocations": {self.provider: {"resources": resources}},
            "consumer_generation": number or None,
        }
        server.request("PUT", f"/allocations/{self.consumer}", body)


class Story:
    """The requests, with their state for each server."""

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
        server.request("PUT", f"/resource_providers/{host}/inventories", body)
        self.provider_generations[server.name] = known + 1

    def search(self, server: Server, number: int) -> None:
        query = (
            "resources=VCPU:1,MEMORY_MB:1024,DISK_GB:10&required=HW_CPU_X86_AVX2"
            f"&member_of={self.cloud.aggregate}"
        )
        server.request("GET", f"/resource_providers?{query}")

    def reshape(self, server: Server, number: int) -> None:
        """Move 200 consumers between a host and its child, there and back."""
        reshape_consumers(server, number)


def prepare_reshape(server: Server, consumers: int = 200) -> None:
    """Create a host with that many consumers, and a child to move them to."""
    host, child = name_based("reshaped"), name_based("reshaped-child")
    server.request("POST", "/resource_providers", {"name": "reshaped", "uuid": host})
    body = {"name": "reshaped-child", "uuid": child, "parent_provider_uuid": host}
    server.request("POST", "/resource_providers", body)
    stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1000}}}
    server.request("PUT", f"/resource_providers/{host}/inventories", stock)
    for number in range(consumers):
        held = OWNER | {
            "allocations": {host: {"resources": {"VCPU": 1}}},
            "consumer_generation": None,
        }
        server.request("PUT", f"/allocations/{name_based(f'moving-{number}')}", held)


def reshape_consumers(server: Server, number: int, consumers: int = 200) -> None:
    """Reshape once; even numbers move to the child, odd ones back."""
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
    server.request("POST", "/reshaper", body)


def measures(cloud: Cloud) -> list[Measure]:
    """Return the lines of the table, with their targets."""
    story = Story(cloud)
    at_least = {1000: "10×", 10000: "50×"}.get(cloud.hosts, "")

    def get(path: str) -> Callable[[Server, int], object]:
        return lambda server, number: server.get(path)

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


def cost(running: dict[str, Server], measure: Measure, rounds: int) -> dict[str, float]:
    """Return CPU milliseconds per request by server, the best of some alternating rounds."""
    costs: dict[str, list[float]] = {name: [] for name in running}
    numbers = dict.fromkeys(running, 0)
    for _ in range(rounds):
        for name, server in running.items():
            slow = name == "reference" and measure.reference_repeats
            repeats = slow or measure.repeats
            before = server.spent()
            for _ in range(repeats):
                measure.request(server, numbers[name])
                numbers[name] += 1
            costs[name].append((server.spent() - before) / repeats * 1000)
    return {name: min(each) for name, each in costs.items()}


def _databases(kind: str, folder: Path, stack: contextlib.ExitStack) -> dict[str, str]:
    """Create an empty database for each of the two services; return connections by name."""
    copies: Databases = SQLiteFiles(folder)
    if kind != "sqlite":
        copies = COPIES[kind](join(kind, folder / kind))
    new = stack.enter_context(copies.lent())
    return {"berth": new(empty=True), "reference": new(empty=True)}


def table(arguments: argparse.Namespace, stack: contextlib.ExitStack) -> Table:
    """Run all measurements."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="berth-benchmark-")))
    # database servers run as other users
    folder.chmod(0o755)
    connections = _databases(arguments.database, folder, stack)
    (folder / "hello").write_text("hello")
    ours = stack.enter_context(berth(connections["berth"], folder))
    theirs = stack.enter_context(reference(arguments.reference, connections["reference"], folder))
    hello = stack.enter_context(floor(folder))
    cloud = Cloud(arguments.hosts)
    for server in (ours, theirs):
        server.get("/")
        cloud.fill(server, connections[server.name])
        prepare_reshape(server)
    shown = Table("request", "Berth, ms CPU", "reference, ms CPU", "ratio", "to reach")
    nothing = Measure("floor", "", lambda server, number: server.get("/hello"), 500)
    lowest = cost({"floor": hello}, nothing, arguments.rounds)["floor"]
    shown.add_row("hello-world Flask route (the floor)", f"{lowest:.2f}", "", "", "")
    for measure in measures(cloud):
        costs = cost({"berth": ours, "reference": theirs}, measure, arguments.rounds)
        ratio = f"{costs['reference'] / costs['berth']:.1f}×"
        if measure.title == "GET /":
            ratio += f", {costs['berth'] / lowest:.1f}× the floor"
        each = [f"{costs[name]:.2f}" for name in ("berth", "reference")]
        shown.add_row(measure.title, *each, ratio, measure.target)
    return shown


def main() -> None:
    """Run the measurements and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rest_api", description=__doc__)
    parser.add_argument("--reference", required=True, help="Python with openstack-placement")
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        Console().print(table(arguments, stack))


if __name__ == "__main__":
    main()
