"""`python -m benchmarks.host_starts`: what the starts of hosts cost placement.

First one host with 50 providers and 20 consumers: the consumers hold VGPU of the root, and a start
moves them to 49 children. Its requests are counted, with whole trees in one request, without, and
against a placement that has no extensions. Then many hosts of seven providers start for the first
time, against two workers on PostgreSQL, both ways in one run. In a cloud each host is a machine of
its own; here all share the processors with placement: `--records memory` leaves out their files.
"""

import argparse
import collections
import contextlib
import functools
import gc
import logging
import multiprocessing
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from rich.console import Console
from rich.table import Table

from benchmarks.claims import spent
from benchmarks.compute_library import ComputeService, placement
from compute.records.cell_database.memory import MemoryCellDatabase
from tests.databases.mortal import mortal
from tests.faults.running import running
from tests.functional.placement.serving.programs import free_port
from virt.fake import FakeReshapeVGPUDriver, MediumFakeDriver
from virt.inventory import record

#: children of the one host, its consumers, and children of each of the many hosts
CHILDREN, CONSUMERS, FEW = 49, 20, 6
WAYS = {"whole trees": True, "one by one": False}


class Spent(NamedTuple):
    """What the starts of some hosts took; `cpu` is the hosts' own processor time in seconds."""

    requests: int
    seconds: float
    cpu: float


class SmallTreeDriver(MediumFakeDriver):
    """A node with six children."""

    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        super().update_provider_tree(provider_tree, nodename)
        for number in range(FEW):
            child = f"{nodename}-{number}"
            if not provider_tree.exists(child):
                provider_tree.new_child(child, nodename)
            provider_tree.update_inventory(child, {"SRIOV_NET_VF": record(8)})


def one_host(url: str, folder: Path, whole_trees: bool) -> tuple[list[str], list[str]]:
    """Return the requests of the start that reshapes a host, and those of the start after it."""
    devices = {f"pci_0000_{number:02x}_00_0": 1 for number in range(CHILDREN)}
    holders = [str(uuid4()) for _ in range(CONSUMERS)]
    held = {who: {device: 1} for who, device in zip(holders, devices, strict=False)}
    name = f"host-{uuid4()}"

    def host(nested: bool) -> ComputeService:
        driver = functools.partial(FakeReshapeVGPUDriver, nested=nested, pgpus=devices, mdevs=held)
        return ComputeService(url, folder, driver, name, whole_trees)

    flat = host(nested=False)
    flat.start()
    allocate(flat, holders)
    first, later = host(nested=True), host(nested=True)
    return first.requests_of(first.start), later.requests_of(later.start)


def allocate(host: ComputeService, consumers: list[str]) -> None:
    """Give each consumer one VGPU of the host's root."""
    headers = {"OpenStack-API-Version": "placement 1.39"}
    found = host.adapter.get("/resource_providers", headers=headers).json()["resource_providers"]
    (root,) = [row["uuid"] for row in found if row["name"] in host.driver.get_available_nodes()]
    wanted = {
        consumer: {
            "allocations": {root: {"resources": {"VGPU": 1}}},
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        for consumer in consumers
    }
    answer = host.adapter.post("/allocations", json=wanted, headers=headers)
    if answer.status_code != 204:
        raise RuntimeError(answer.text)


def show_one_host(console: Console) -> None:
    """Print the requests of the one host, by kind."""
    shown = Table("placement", "client", "start that reshapes", "start after it", "kinds")
    for extensions in (True, False):
        for way, whole_trees in WAYS.items():
            with (
                tempfile.TemporaryDirectory() as name,
                placement(Path(name), extensions) as url,
            ):
                first, later = one_host(url, Path(name), whole_trees)
            kinds = collections.Counter(first)
            shown.add_row(
                "with extensions" if extensions else "without",
                way,
                str(len(first)),
                str(len(later)),
                ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()),
            )
    console.print(shown)


def start_some(
    results: "multiprocessing.Queue[Spent]",
    url: str,
    hosts: int,
    whole_trees: bool,
    in_memory: bool,
    begin: Barrier,
) -> None:
    """Start hosts one after the other; report what that took."""
    with tempfile.TemporaryDirectory() as name:
        services = [
            ComputeService(
                url,
                Path(name),
                SmallTreeDriver,
                whole_trees=whole_trees,
                cell=MemoryCellDatabase() if in_memory else None,
            )
            for _ in range(hosts)
        ]
        # a host's process holds one service: the collector need not look through all the others
        gc.freeze()
        begin.wait()
        sent, begun, before = 0, time.perf_counter(), time.process_time()
        for service in services:
            sent += len(service.requests_of(service.start))
        results.put(Spent(sent, time.perf_counter() - begun, time.process_time() - before))


def many_hosts(url: str, given: argparse.Namespace, hosts: int, whole_trees: bool) -> Spent:
    """Start hosts in some processes; return what that took until all of them have started."""
    clients, in_memory = given.clients, given.records == "memory"
    begin = multiprocessing.Barrier(clients)
    results: multiprocessing.Queue[Spent] = multiprocessing.Queue()
    arguments = (results, url, hosts // clients, whole_trees, in_memory, begin)
    processes = [multiprocessing.Process(target=start_some, args=arguments) for _ in range(clients)]
    for process in processes:
        process.start()
    found = [results.get() for _ in processes]
    for process in processes:
        process.join()
    return Spent(
        sum(one.requests for one in found),
        max(one.seconds for one in found),
        sum(one.cpu for one in found),
    )


def show_many_hosts(console: Console, given: argparse.Namespace) -> None:
    """Print what the start of many hosts costs, both ways, and the ratios."""
    rows: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(mortal("postgresql"))
        port = free_port()
        service = stack.enter_context(
            running(server.url, workers=given.workers, threads=8, port=port)
        )
        url = f"http://127.0.0.1:{port}"
        for whole_trees in WAYS.values():
            # the first requests of a kind compile statements in each worker
            many_hosts(url, given, 2 * given.clients, whole_trees)
        for way, whole_trees in reversed(WAYS.items()):
            before = spent(service.workers())
            took = many_hosts(url, given, given.hosts, whole_trees)
            rows[way] = [*took, spent(service.workers()) - before]
    shown = Table(f"{given.hosts} hosts", "requests", "seconds", "hosts' CPU s", "workers' CPU s")
    for way, figures in rows.items():
        shown.add_row(way, *(f"{figure:,.1f}" for figure in figures))
    ratios = [a / b for a, b in zip(rows["one by one"], rows["whole trees"], strict=True)]
    shown.add_row("× less", *(f"{ratio:.1f}" for ratio in ratios))
    console.print(shown)


def main() -> None:
    """Run the measurements and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.host_starts", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=8, help="processes that start hosts")
    parser.add_argument("--workers", type=int, default=2, help="of placement")
    parser.add_argument(
        "--records",
        choices=("file", "memory"),
        default="file",
        help="where each host keeps its own records; in memory, the time is about placement's",
    )
    given = parser.parse_args()
    # a host that starts for the first time warns that it has no record
    logging.disable(logging.WARNING)
    console = Console(width=160)
    show_one_host(console)
    show_many_hosts(console, given)


if __name__ == "__main__":
    main()
