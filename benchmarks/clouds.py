"""Clouds for measurements, written directly into a SQLite file for both services."""

import dataclasses
import random
import uuid
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from placement import config
from placement.app import open_database
from placement.storage import tables
from placement.storage.database.engine import Connection, Database

AGGREGATE = str(uuid.UUID(int=0xA66))
HOST_TRAIT = "CUSTOM_BENCH_GOLD"
PHYSNETS = ("CUSTOM_BENCH_PHYSNET_A", "CUSTOM_BENCH_PHYSNET_B")
NUMA_TRAIT = "CUSTOM_BENCH_NUMA"
VF = "SRIOV_NET_VF"
PER_INSERT = 5000


@dataclasses.dataclass
class Rows:
    """Rows to be stored, and the next provider id."""

    providers: list[dict] = dataclasses.field(default_factory=list)
    stocks: list[dict] = dataclasses.field(default_factory=list)
    used: list[dict] = dataclasses.field(default_factory=list)
    traits: list[dict] = dataclasses.field(default_factory=list)
    members: list[dict] = dataclasses.field(default_factory=list)
    next_id: int = 1

    def provider(self, stock: dict[int, int], parent: dict | None = None) -> dict:
        """Add a provider with totals by class id; return its row."""
        key = self.next_id
        self.next_id += 1
        row = {
            "id": key,
            "uuid": str(uuid.UUID(int=key + (0xBE57 << 96))),
            "name": f"provider-{key}",
            "generation": 1,
            "parent_provider_id": None if parent is None else parent["id"],
            "root_provider_id": key if parent is None else parent["root_provider_id"],
        }
        self.providers.append(row)
        for class_id, total in stock.items():
            self.stocks.append(
                {
                    "resource_provider_id": key,
                    "resource_class_id": class_id,
                    "total": total,
                    "reserved": 0,
                    "min_unit": 1,
                    "max_unit": total,
                    "step_size": 1,
                    "allocation_ratio": 1.0,
                }
            )
        return row

    def use(self, provider: dict, amounts: dict[int, int], consumer: str) -> None:
        """Add allocations of a consumer."""
        for class_id, amount in amounts.items():
            self.used.append(
                {
                    "resource_provider_id": provider["id"],
                    "resource_class_id": class_id,
                    "consumer_id": consumer,
                    "used": amount,
                }
            )

    def store(self, connection: Connection) -> None:
        """Write the rows and clear them."""
        for table, rows in (
            (tables.resource_providers, self.providers),
            (tables.inventories, self.stocks),
            (tables.allocations, self.used),
            (tables.resource_provider_traits, self.traits),
            (tables.resource_provider_aggregates, self.members),
        ):
            if rows:
                connection.execute(sa.insert(table), rows)
                rows.clear()


class Builder:
    """Creates one database file and fills it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database: Database = open_database(config_for(path))
        self.rows = Rows()
        self._random = random.Random(4)
        with self._database.transaction() as connection:
            names = (HOST_TRAIT, NUMA_TRAIT, *PHYSNETS)
            there = _ids(connection, tables.traits, tables.traits.c.name)
            connection.execute(
                sa.insert(tables.traits), [{"name": n} for n in names if n not in there]
            )
            connection.execute(sa.insert(tables.placement_aggregates), [{"uuid": AGGREGATE}])
            self.traits = _ids(connection, tables.traits, tables.traits.c.name)
            self.classes = _ids(connection, tables.resource_classes, tables.resource_classes.c.name)
            (self.aggregate,) = connection.execute(
                sa.select(tables.placement_aggregates.c.id)
            ).one()

    def flat(self, hosts: int, instances: int = 20) -> None:
        """Add hosts with three classes, half of them in the aggregate, half with the trait."""
        vcpu, memory, disk = (self.classes[n] for n in ("VCPU", "MEMORY_MB", "DISK_GB"))
        for number in self._counted(hosts):
            host = self.rows.provider({vcpu: 64, memory: 262144, disk: 2000})
            if number % 2:
                self._mark(host, HOST_TRAIT)
            if number % 4 < 2:
                self._join(host)
            for index in range(instances):
                amounts = {vcpu: 1 + index % 3, memory: 2048, disk: 20}
                self.rows.use(host, amounts, str(uuid.UUID(int=host["id"] * 1000 + index)))

    def nested(self, providers: int) -> None:
        """Add hosts with 2 NUMA nodes, 2 PFs of 8 VFs and 2 pGPUs: seven providers each."""
        vcpu, memory, disk, gpu = (
            self.classes[n] for n in ("VCPU", "MEMORY_MB", "DISK_GB", "VGPU")
        )
        for _ in self._counted(providers // 7):
            host = self.rows.provider({disk: 2000})
            for side in range(2):
                node = self.rows.provider({vcpu: 32, memory: 131072}, host)
                self._mark(node, NUMA_TRAIT)
                function = self.rows.provider({self.classes[VF]: 8}, node)
                self._mark(function, PHYSNETS[side])
                card = self.rows.provider({gpu: 4}, node)
                taken = self._random.randrange(3)
                consumer = str(uuid.UUID(int=node["id"]))
                self.rows.use(node, {vcpu: 4, memory: 8192}, consumer)
                if taken:
                    self.rows.use(card, {gpu: taken}, consumer)

    def devices(self, children: int, units: int) -> None:
        """Add one host with equal devices."""
        host = self.rows.provider({self.classes["VCPU"]: 64})
        for _ in range(children):
            self.rows.provider({self.classes[VF]: units}, host)
        self.finish()

    def _counted(self, count: int) -> Iterator[int]:
        for number in range(count):
            yield number
            if number % PER_INSERT == PER_INSERT - 1:
                self.finish()
        self.finish()

    def _mark(self, provider: dict, trait: str) -> None:
        self.rows.traits.append(
            {"resource_provider_id": provider["id"], "trait_id": self.traits[trait]}
        )

    def _join(self, provider: dict) -> None:
        self.rows.members.append(
            {"resource_provider_id": provider["id"], "aggregate_id": self.aggregate}
        )

    def finish(self) -> None:
        """Store the remaining rows."""
        with self._database.transaction() as connection:
            self.rows.store(connection)


def _ids(connection: Connection, table: sa.Table, column: sa.Column) -> dict[str, int]:
    return {name: key for name, key in connection.execute(sa.select(column, table.c.id))}


def config_for(path: Path):
    """Return Berth's configuration for a database file."""
    return config.load(
        files=[],
        environ=False,
        overrides={
            ("placement_database", "connection"): f"sqlite:///{path}",
            ("placement_database", "sync_on_startup"): True,
            ("placement_database", "sqlite_synchronous"): False,
            ("api", "auth_strategy"): "noauth2",
        },
    )
