"""The costs of the compute library: requests counted by kind, and processor time.

    python -m benchmarks.compute_library [--nodes 1000]

Placement runs in this process, so that no network is measured. Its own work is part of the time of
a start. The idle cycle sends no requests, so its time is the library's alone.
"""

import argparse
import collections
import copy
import functools
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import requests
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token
from rich.console import Console
from rich.table import Table
from wsgi_intercept import add_wsgi_intercept, remove_wsgi_intercept, requests_intercept

from compute import config
from compute.provider_tree import ProviderTree
from compute.records.cell_database import CellDatabase, sqlite
from compute.records.node_identity import NodeIdentity
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.service.manager import ComputeManager
from compute.service.runner import ServiceRunner
from compute.service.virtapi import ComputeVirtAPI
from placement import config as placement_config
from placement.app import create_app
from virt.fake import FakeMultiNodeDriver, MediumFakeDriver
from virt.inventory import record

CONSOLE = Console()
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
HOST, PORT = "placement.benchmark", 80
IDLE_TARGET = 1.0
TREE_SIZE = 5000
REPEATS = 2000


class CountingAdapter(Adapter):
    """Records method and URL of each request."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sent: list[str] = []
        self._lock = threading.Lock()

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        """Count the request and send it."""
        with self._lock:
            self.sent.append(f"{method} {UUID.sub('{uuid}', url)}")
        return super().request(url, method, **kwargs)


class WideDriver(MediumFakeDriver):
    """A node with 49 children; `total` is that of each child."""

    total = 4

    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        super().update_provider_tree(provider_tree, nodename)
        for number in range(49):
            child = f"{nodename}-{number}"
            if not provider_tree.exists(child):
                provider_tree.new_child(child, nodename)
            provider_tree.update_inventory(child, {"SRIOV_NET_VF": record(self.total)})


@contextmanager
def placement(folder: Path, extensions: bool = True) -> Iterator[str]:
    """Start placement in this process on a fresh database; yield its URL."""
    app = create_app(
        placement_config.load(
            files=[],
            environ=False,
            overrides={
                ("placement_database", "connection"): f"sqlite:///{folder}/placement.db",
                ("placement_database", "sync_on_startup"): True,
                ("api", "auth_strategy"): "noauth2",
                ("berth", "extensions"): extensions,
            },
        )
    )
    requests_intercept.install()
    add_wsgi_intercept(HOST, PORT, lambda: app)
    try:
        yield f"http://{HOST}"
    finally:
        remove_wsgi_intercept(HOST, PORT)
        requests_intercept.uninstall()


class ComputeService:
    """A compute service with a driver and records in a folder.

    :param name: of the host; a host that has started before finds its records again
    :param whole_trees: whether it may read and write whole trees in one request
    :param cell: its records; None: a file of the folder
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        driver_class: Callable[..., Any],
        name: str | None = None,
        whole_trees: bool = True,
        cell: CellDatabase | None = None,
    ) -> None:
        name = name or f"host-{uuid4()}"
        conf = config.load(
            files=[],
            environ={},
            overrides={
                (None, "host"): name,
                (None, "state_path"): str(folder / name),
                ("berth", "whole_trees"): whole_trees,
            },
        )
        self.adapter = CountingAdapter(
            Session(auth=Token(url, "admin"), session=requests.Session()),
            service_type="placement",
            raise_exc=False,
            additional_headers={"x-roles": "admin,service"},
        )
        identity = NodeIdentity(conf.state_path)
        self.cell = cell or sqlite.open_in(conf.state_path)
        client = SchedulerReportClient(self.adapter, conf=conf)
        virtapi = ComputeVirtAPI(client, identity, self.cell)
        self.driver = driver_class(virtapi, conf)
        self.manager = ComputeManager(conf, self.driver, client, self.cell, identity, virtapi)
        self.conf = conf

    def start(self) -> None:
        """Run the first update."""
        outcome = ServiceRunner(self.manager, self.cell, self.conf).start()
        assert not outcome.failures, outcome.failures

    def update(self) -> None:
        """Run a periodic update."""
        outcome = self.manager.update_available_resource(admin_context())
        assert not outcome.failures, outcome.failures

    def requests_of(self, action: Callable[[], None]) -> list[str]:
        """Return the requests that the action sends."""
        self.adapter.sent.clear()
        action()
        return list(self.adapter.sent)


def count_requests(url: str, folder: Path) -> None:
    """Count and list requests of starts and changes; check that an idle cycle sends none."""
    small = ComputeService(url, folder, MediumFakeDriver)
    show_requests("first start of one node", small.requests_of(small.start))
    show_requests("its idle cycle", small.requests_of(small.update))
    wide = ComputeService(url, folder, WideDriver, whole_trees=False)
    show_requests("first start of a tree of 50 providers, one by one", wide.requests_of(wide.start))
    wide.driver.total = 5
    show_requests("a change of 49 of them", wide.requests_of(wide.update))
    show_requests("its idle cycle", wide.requests_of(wide.update))


def show_requests(title: str, sent: list[str]) -> None:
    """Print requests by kind."""
    table = Table("request", "times", title=f"{title}: {len(sent)} requests")
    for request, times in collections.Counter(sent).items():
        table.add_row(request, str(times))
    CONSOLE.print(table)


def time_trees() -> None:
    """Time operations on small and large forests, which should cost the same."""
    table = Table(
        "operation", "50 roots, µs", f"{TREE_SIZE} roots, µs", title="ProviderTree operations"
    )
    forests = [a_forest(50), a_forest(TREE_SIZE)]
    names = [[node.name for node in forest.roots][-2] for forest in forests]
    uuids = [[node.uuid for node in forest.roots][-2] for forest in forests]
    for title, keys, operation in (
        ("lookup of a root by uuid", uuids, ProviderTree.exists),
        ("lookup of a root by name", names, ProviderTree.exists),
        ("snapshot of a root's data", uuids, ProviderTree.data),
        ("uuids of a root's tree", uuids, ProviderTree.get_provider_uuids_in_tree),
        ("copy of one tree", uuids, ProviderTree.subtree),
        ("copy of one tree with its sharing providers", uuids, ProviderTree.subtree_with_sharing),
    ):
        times = [
            microseconds(functools.partial(operation, forest, key))
            for forest, key in zip(forests, keys, strict=True)
        ]
        table.add_row(title, *(f"{took:.1f}" for took in times))
    whole = [microseconds(functools.partial(copy.deepcopy, f), repeats=3) for f in forests]
    table.add_row("copy of the whole forest", *(f"{took:.0f}" for took in whole))
    CONSOLE.print(table)


def a_forest(roots: int) -> ProviderTree:
    """Return so many trees of three providers, all in the aggregate of one sharing provider."""
    forest = ProviderTree()
    aggregate = str(uuid4())
    for number in range(roots):
        root = forest.new_root(f"node-{number}", str(uuid4()), generation=1)
        forest.update_inventory(root, {"VCPU": record(8), "MEMORY_MB": record(4096)})
        forest.add_aggregates(root, aggregate)
        for child in ("a", "b"):
            uuid = forest.new_child(f"node-{number}-{child}", root, generation=1)
            forest.update_inventory(uuid, {"SRIOV_NET_VF": record(8)})
    pool = forest.new_root("pool", str(uuid4()))
    forest.add_traits(pool, "MISC_SHARES_VIA_AGGREGATE")
    forest.add_aggregates(pool, aggregate)
    return forest


def microseconds(operation: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the processor time of one call, the best of three runs."""
    best = float("inf")
    for _ in range(3):
        before = time.process_time()
        for _ in range(repeats):
            operation()
        best = min(best, time.process_time() - before)
    return best / repeats * 1e6


def time_idle_cycles(url: str, folder: Path, sizes: list[int]) -> None:
    """Time the idle cycle of hosts with many nodes."""
    table = Table("nodes", "requests", "CPU s", "CPU ms a node", title="Idle cycle")
    for size in sizes:
        nodes = [f"node-{number}-{uuid4()}" for number in range(size)]
        service = ComputeService(url, folder, functools.partial(FakeMultiNodeDriver, nodes=nodes))
        service.start()
        service.update()
        cycles = []
        for _ in range(3):
            before = time.process_time()
            sent = service.requests_of(service.update)
            cycles.append(time.process_time() - before)
        best = min(cycles)
        mark = "" if best <= IDLE_TARGET or size > 1000 else " (more than the target)"
        table.add_row(str(size), str(len(sent)), f"{best:.3f}{mark}", f"{best / size * 1e3:.3f}")
    CONSOLE.print(table)


def main() -> None:
    """Run all measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000, help="of the largest host (1000)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, placement(Path(folder)) as url:
        count_requests(url, Path(folder))
        time_trees()
        time_idle_cycles(url, Path(folder), [arguments.nodes // 10, arguments.nodes])


if __name__ == "__main__":
    main()
