"""The costs of `nova-manage placement migrate_compute_inventory`: time, statements, memory.

    python -m benchmarks.nova_manage [--database postgresql] [--nodes 1000] [--consumers 20]
    python -m benchmarks.nova_manage --nodes 1 --consumers 10000 --children 999

VCPU and MEMORY_MB of each node move from its root to two NUMA cells, with the allocations. With
`--children`, VGPU moves to so many physical GPUs instead. The service runs in this process, as for
the command, so its work is part of the time.
"""

import argparse
import contextlib
import itertools
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from keystoneauth1.adapter import Adapter
from oslo_config.cfg import ConfigOpts
from rich.console import Console
from rich.table import Table

from compute import config
from compute.maintenance.migrate.migration import Migrator, NodeReport, Result
from compute.maintenance.migrate.offline_tracker import StandIn
from compute.maintenance.migrate.rehearsal import rehearsing_client
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.compute_node import ComputeNode
from compute.report import SchedulerReportClient
from placement.direct import PlacementDirect
from tests.databases.fixtures import COPIES
from tests.databases.fresh import Databases, SQLiteFiles
from tests.databases.keeper import join
from virt.fake import FakeNUMAReshapeDriver, FakeReshapeVGPUDriver, MediumFakeDriver
from virt.fake.driver import node_uuid
from virt.virtapi import NoopVirtAPI

VERSION = {"OpenStack-API-Version": "placement 1.39"}
#: number of parts of the run, each with its own figures
PARTS = 5


class Statements:
    """Counts the SQL statements of this process."""

    def __init__(self) -> None:
        self.count = 0
        sa.event.listen(sa.Engine, "before_cursor_execute", self._note)

    def _note(self, *args: Any) -> None:
        self.count += 1


@contextlib.contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database of that kind."""
    makers: Databases = (
        SQLiteFiles(folder) if kind == "sqlite" else COPIES[kind](join(kind, folder / kind))
    )
    with makers.lent() as new:
        yield new()


def fill(placement: Adapter, nodes: list[ComputeNode], consumers: list[str], children: int) -> None:
    """Create the nodes' providers, and consumers on each.

    :param consumers: uuids, the same number on each node
    :param children: how many children will have the nodes' VGPU; 0: VCPU and MEMORY_MB will move
    """
    inventory = {
        "VCPU": {"total": 64, "allocation_ratio": 4.0},
        "MEMORY_MB": {"total": 262144},
        "DISK_GB": {"total": 4000},
    }
    held = {"VCPU": 4, "MEMORY_MB": 4096, "DISK_GB": 40}
    if children:
        inventory["VGPU"] = {"total": len(consumers)}
        held = {"VGPU": 1}
    each = len(consumers) // len(nodes)
    for number, node in enumerate(nodes):
        root = {"name": node.hypervisor_hostname, "uuid": node.uuid}
        send(placement, "POST", "/resource_providers", root)
        stock = {"inventories": inventory, "resource_provider_generation": 0}
        send(placement, "PUT", f"/resource_providers/{node.uuid}/inventories", stock)
        body = {
            "allocations": {node.uuid: {"resources": held}},
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        wanted = dict.fromkeys(consumers[number * each : (number + 1) * each], body)
        send(placement, "POST", "/allocations", wanted)


def driver_for(
    conf: ConfigOpts, consumers: list[str], each: int, children: int
) -> MediumFakeDriver:
    """Return the driver whose nodes need a reshape; `each` is the number of a node's consumers."""
    if not children:
        cells = {cell: {"VCPU": 32, "MEMORY_MB": 131072} for cell in (0, 1)}
        return FakeNUMAReshapeDriver(NoopVirtAPI(), conf, cells=cells)
    devices = {f"pci_{number:04x}_00_00_0": -(-each // children) for number in range(children)}
    names = itertools.cycle(devices)
    held = {consumer: {next(names): 1} for consumer in consumers}
    driver = FakeReshapeVGPUDriver(NoopVirtAPI(), conf, pgpus=devices, mdevs=held)
    driver.vcpus, driver.memory_mb = 64, 262144
    return driver


def send(placement: Adapter, method: str, url: str, body: Any) -> None:
    """Send a request that must succeed."""
    answer = placement.request(url, method, json=body, headers=VERSION)
    if answer.status_code >= 300:
        raise RuntimeError(f"{method} {url}: {answer.text}")


def memory() -> float:
    """Return the peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(
    title: str,
    nodes: list[ComputeNode],
    work: Callable[[ComputeNode], NodeReport],
    result: Result,
    statements: Statements,
    driver: MediumFakeDriver,
) -> Table:
    """Do the work for each node; print a row for each part of the nodes.

    :param driver: manages one node at a time
    """
    table = Table("nodes", "ms a node", "CPU ms a node", "statements a node", "MiB", title=title)
    size = max(1, len(nodes) // PARTS)
    for start in range(0, len(nodes), size):
        part = nodes[start : start + size]
        counted, wall, cpu = statements.count, time.perf_counter(), time.process_time()
        for node in part:
            driver.init_host(node.hypervisor_hostname)
            report = work(node)
            if report.result is not result:
                raise RuntimeError(f"{node.hypervisor_hostname}: {report.result} {report.error}")
        figures = (
            (time.perf_counter() - wall) / len(part) * 1e3,
            (time.process_time() - cpu) / len(part) * 1e3,
            (statements.count - counted) / len(part),
            memory(),
        )
        table.add_row(f"{start + 1} – {start + len(part)}", *(f"{f:.1f}" for f in figures))
    return table


def main() -> None:
    """Run the migration as a dry run, then for real, then again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", choices=("sqlite", *COPIES), default="sqlite")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--consumers", type=int, default=20, help="on each node")
    parser.add_argument("--children", type=int, default=0, help="of each node, with VGPU")
    parser.add_argument("--one-by-one", action="store_true", help="without whole trees")
    given = parser.parse_args()
    options: dict[tuple[str | None, str], Any] = {("berth", "whole_trees"): not given.one_by_one}
    conf = config.load(files=[], environ={}, overrides=options)
    consumers = [str(uuid4()) for _ in range(given.nodes * given.consumers)]
    driver = driver_for(conf, consumers, given.consumers, given.children)
    driver.local_gb = 4000
    names = [f"node-{number:05}" for number in range(given.nodes)]
    nodes = [ComputeNode(node_uuid(name), "host", name) for name in names]
    statements = Statements()
    console = Console()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # PostgreSQL's server runs as another user if this process is root
        folder.chmod(0o755)
        url = stack.enter_context(database(given.database, folder))
        overrides: dict[tuple[str | None, str], Any] = {
            ("placement_database", "connection"): url,
            ("placement_database", "sync_on_startup"): True,
        }
        direct = PlacementDirect.configured(files=[], environ=False, overrides=overrides)
        placement = stack.enter_context(direct)
        fill(placement, nodes, consumers, given.children)
        tracker = StandIn.of(driver, conf, MemoryCellDatabase()).tracker
        migrator = Migrator(
            lambda: SchedulerReportClient(placement, conf=conf), tracker, lambda: None
        )
        rehearser = Migrator(lambda: rehearsing_client(placement, conf=conf), tracker, lambda: None)
        console.print(f"{given.database}, {given.nodes} nodes, {given.consumers} consumers each")
        for title, work, result in (
            ("--dry-run", rehearser.rehearse, Result.WOULD_MIGRATE),
            ("migration", migrator.migrate, Result.MIGRATED),
            ("second run", migrator.migrate, Result.UNCHANGED),
        ):
            console.print(measure(title, nodes, work, result, statements, driver))


if __name__ == "__main__":
    main()
