"""`python -m benchmarks.provider_trees`: whole clouds in one request, and answers without news.

Hosts have three classes of inventory, and two consumers each, which hold all three classes. The
figures of a table are of one run and one worker. Single requests are measured by a sample.
"""

import argparse
import contextlib
import dataclasses
import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
from rich.console import Console
from rich.table import Table

from benchmarks.rest_cloud import RestCloud
from benchmarks.servers import Server, berth
from placement.storage.database.engine import Connection, Database, DatabaseSettings
from tests.databases.fixtures import COPIES, KINDS
from tests.databases.fresh import Databases, SQLiteFiles
from tests.databases.keeper import join

ALL = "inventories,traits,aggregates,usages,allocations"
TREES = "/berth/v1/provider_trees"
STREAM = "application/x-ndjson"
CONSUMERS = (
    "INSERT INTO consumers (uuid, project_id, user_id, generation, consumer_type_id) "
    "SELECT :prefix || substr(p.uuid, 2), o.project_id, o.user_id, 1, o.consumer_type_id "
    "FROM resource_providers p, (SELECT * FROM consumers ORDER BY id LIMIT 1) o "
    "WHERE p.uuid <> :known"
)
ALLOCATIONS = (
    "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) "
    "SELECT p.id, :prefix || substr(p.uuid, 2), c.class_id, c.used FROM resource_providers p, "
    "(SELECT 0 AS class_id, 2 AS used UNION ALL SELECT 1, 4096 UNION ALL SELECT 2, 40) c "
    "WHERE p.uuid <> :known ORDER BY p.id"
)
#: consumers of a host have its uuid with another first character
PREFIXES = "gh"
SAMPLE, ROUNDS = 100, 7


def fill(cloud: RestCloud, server: Server, connection: str) -> None:
    """Store the hosts and their consumers."""
    cloud.fill(server, connection)

    def write(database: Connection) -> None:
        if database.dialect.name in ("mysql", "mariadb"):
            database.plain.exec_driver_sql(
                "SET SESSION sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')"
            )
        for prefix in PREFIXES:
            for statement in (CONSUMERS, ALLOCATIONS):
                database.execute(sa.text(statement), {"prefix": prefix, "known": cloud.provider})

    with contextlib.closing(Database(DatabaseSettings(connection))) as database:
        database.write(write)
        if database.engine.dialect.name == "postgresql":
            with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as now:
                now.exec_driver_sql("ANALYZE")


@dataclasses.dataclass
class RequestCost:
    """What one request, or a sample of requests, costs."""

    seconds: float
    cpu: float
    memory: int = 0
    size: int = 0


def cost(server: Server, ask: Callable[[], bytes], times: int = 1) -> RequestCost:
    """Measure; the memory is what the worker needs more than before, at its peak."""
    before, spent, begun = server.forget_peak(), server.spent(), time.perf_counter()
    for _ in range(times):
        size = len(ask())
    seconds, cpu = time.perf_counter() - begun, server.spent() - spent
    return RequestCost(seconds / times, cpu / times, server.peak() - before, size)


def whole_cloud(server: Server, cloud: RestCloud) -> Table:
    """Return the table of reads of all."""
    shown = Table("read of all", "requests", "seconds", "CPU s", "+ MB", "MB sent")

    def add(title: str, number: int, found: RequestCost) -> None:
        shown.add_row(
            title,
            str(number),
            *(f"{value:.2f}" for value in (found.seconds * number, found.cpu * number)),
            f"{found.memory / 2**20:.0f}",
            f"{found.size * number / 2**20:.1f}",
        )

    for title, path, accept in (
        ("trees in lines", f"{TREES}?fields={ALL}", STREAM),
        ("trees in lines, with consumers", f"{TREES}?fields={ALL},consumers", STREAM),
        ("trees, one value", f"{TREES}?fields={ALL}&limit={cloud.hosts}", "application/json"),
        ("trees in lines, default fields", TREES, STREAM),
    ):
        # the first request of a kind compiles statements
        server.get(f"{path}{'&' if '?' in path else '?'}name=nobody", Accept=accept)
        add(title, 1, cost(server, functools.partial(server.get, path, Accept=accept)))
    provider = f"/resource_providers/{cloud.provider}"
    for end in ("inventories", "usages", "allocations"):
        found = cost(server, functools.partial(server.get, f"{provider}/{end}"), SAMPLE)
        add(f"GET …/{end} of each", cloud.hosts, found)
    return shown


def without_news(server: Server, cloud: RestCloud) -> Table:
    """Return the table of small reads, in turn, as medians."""
    path = f"{TREES}?uuid={cloud.provider}"
    _, _, headers = server.answer("GET", path)
    tag = headers["ETag"]
    assert server.answer("GET", path, If_None_Match=tag)[0] == 304
    asked: dict[str, Callable[[], bytes]] = {
        "GET /resource_providers/{uuid}": lambda: server.get(
            f"/resource_providers/{cloud.provider}"
        ),
        "a tree, nothing new: 304": lambda: server.get(path, If_None_Match=tag),
        "a tree": lambda: server.get(path),
    }
    found: dict[str, list[RequestCost]] = {title: [] for title in asked}
    for _ in range(ROUNDS):
        for title, ask in asked.items():
            found[title].append(cost(server, ask, SAMPLE))
    shown = Table("small reads", "ms", "CPU ms", "× CPU of the first")
    costs = {title: min(each.cpu for each in every) * 1000 for title, every in found.items()}
    first = next(iter(costs.values()))
    for title, every in found.items():
        seconds = statistics.median(each.seconds for each in every) * 1000
        shown.add_row(title, f"{seconds:.2f}", f"{costs[title]:.2f}", f"{costs[title] / first:.2f}")
    return shown


def main() -> None:
    """Run the measurements and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.provider_trees", description=__doc__
    )
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--hosts", type=int, default=10_000)
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="berth-benchmark-")))
        # database servers run as other users
        folder.chmod(0o755)
        copies: Databases = SQLiteFiles(folder)
        if arguments.database != "sqlite":
            copies = COPIES[arguments.database](join(arguments.database, folder / "server"))
        connection = stack.enter_context(copies.lent())(empty=True)
        server = stack.enter_context(berth(connection, folder))
        server.get("/")
        cloud = RestCloud(arguments.hosts)
        fill(cloud, server, connection)
        Console().print(whole_cloud(server, cloud))
        Console().print(without_news(server, cloud))


if __name__ == "__main__":
    main()
