"""The cloud of `benchmarks.rest_api`: flat hosts, a project with many allocations, a tree."""

import datetime
import itertools
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from benchmarks.servers import Server
from placement.storage import tables
from placement.storage.database.engine_setup import make_engine
from placement.storage.driver.database_settings import DatabaseSettings
from placement.storage.driver.list_parameters import parts

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
#: units and ratios of a host by class id: 64 VCPU, 256 GB of memory, 4 TB of disk
STOCK = {0: (64, 4.0), 1: (262144, 1.0), 2: (4096, 1.0)}
#: what each instance of the project with many allocations has, by class id
FLAVOR = {0: 2, 1: 4096, 2: 40}
OWNER = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
BUSY = "busy"
TREE = 7
#: consumers of the busy project at most
_BUSY_HAS = 1000
_AT_ONCE = 1000


def name_based(text: str) -> str:
    """Return the same uuid for the same text, for every service."""
    return str(uuid.uuid5(NAMESPACE, text))


def host(number: int) -> str:
    """Return the uuid of a host."""
    return name_based(f"host-{number}")


def node(number: int) -> str:
    """Return the uuid of a provider of the tree; 0 is the root."""
    return name_based(f"node-{number}")


class RestCloud:
    """Hosts with three classes; each tenth is in an aggregate, each fifth has a trait.

    :param instances: how many consumers there are, on as many hosts; the first are the busy
        project's
    """

    def __init__(self, hosts: int, instances: int = 1000) -> None:
        self.hosts = hosts
        self.instances = min(instances, hosts)
        self.busy = min(self.instances, _BUSY_HAS)
        self.aggregate = name_based("aggregate")
        self.provider = host(0)
        self.consumer = name_based("consumer-0")

    def project(self, number: int) -> str:
        """Return the project of a consumer."""
        return BUSY if number < self.busy else OWNER["project_id"]

    def fill(self, server: Server, connection: str) -> None:
        """Write hosts and consumers into the service's database, whose tables all have."""
        self.store(connection)
        self.claim(server, 0)

    def store(self, connection: str) -> None:
        """Write all rows that no request writes."""
        # without time limits: a statement writes 200,000 rows
        engine = make_engine(DatabaseSettings(connection), patient=True)
        for rows in (self._hosts, self._instances):
            with engine.begin() as now:
                rows(now)
        _analyze(engine)
        engine.dispose()

    def _hosts(self, connection: Any) -> None:
        providers = tables.resource_providers
        _insert(
            connection,
            providers,
            [{"uuid": host(n), "name": f"host-{n}", "generation": 3} for n in range(self.hosts)],
        )
        connection.execute(sa.update(providers).values(root_provider_id=providers.c.id))
        # a host's rows have adjacent ids, as when hosts report
        ids = _ids(connection, providers.c.uuid)
        ordered = [ids[host(n)] for n in range(self.hosts)]
        stock = {"reserved": 0, "min_unit": 1, "step_size": 1}
        _insert(
            connection,
            tables.inventories,
            [
                {
                    "resource_provider_id": provider,
                    "resource_class_id": class_id,
                    "total": total,
                    "max_unit": total,
                    "allocation_ratio": ratio,
                    **stock,
                }
                for provider, (class_id, (total, ratio)) in itertools.product(
                    ordered, STOCK.items()
                )
            ],
        )
        _insert(connection, tables.placement_aggregates, [{"uuid": self.aggregate}])
        aggregate = _ids(connection, tables.placement_aggregates.c.uuid)[self.aggregate]
        _insert(
            connection,
            tables.resource_provider_aggregates,
            [{"resource_provider_id": p, "aggregate_id": aggregate} for p in ordered[::10]],
        )
        trait = _ids(connection, tables.traits.c.name)["HW_CPU_X86_AVX2"]
        _insert(
            connection,
            tables.resource_provider_traits,
            [{"resource_provider_id": p, "trait_id": trait} for p in ordered[::5]],
        )

    def _instances(self, connection: Any) -> None:
        names = (tables.projects.c.external_id, tables.users.c.external_id)
        for column, known in zip(names, (("p", BUSY), ("u",)), strict=True):
            _insert(connection, column.table, [{"external_id": name} for name in known])
        _insert(connection, tables.consumer_types, [{"name": "INSTANCE"}])
        projects = _ids(connection, names[0])
        owner = {
            "user_id": _ids(connection, names[1])["u"],
            "consumer_type_id": _ids(connection, tables.consumer_types.c.name)["INSTANCE"],
        }
        instances = [name_based(f"busy-{n}") for n in range(self.instances)]
        _insert(
            connection,
            tables.consumers,
            [
                {"uuid": one, "generation": 1, "project_id": projects[self.project(n)], **owner}
                for n, one in enumerate(instances)
            ],
        )
        ids = _ids(connection, tables.resource_providers.c.uuid)
        _insert(
            connection,
            tables.allocations,
            [
                {
                    "resource_provider_id": ids[host(n)],
                    "consumer_id": consumer,
                    "resource_class_id": class_id,
                    "used": used,
                }
                for n, consumer in enumerate(instances)
                for class_id, used in FLAVOR.items()
            ],
        )

    def claim(self, server: Server, number: int) -> None:
        """PUT /allocations of one consumer at generation `number` (0: new)."""
        resources = {"VCPU": 1 + number % 2, "MEMORY_MB": 1024, "DISK_GB": 10}
        put_allocations(server, self.consumer, self.provider, resources, number or None)

    def plant(self, server: Server) -> None:
        """Create a tree of a host, two NUMA nodes and four functions, as its agent does."""
        for number in range(TREE):
            body: dict[str, Any] = {"name": f"node-{number}", "uuid": node(number)}
            if number:
                body["parent_provider_uuid"] = node((number - 1) // 2)
            server.request("POST", "/resource_providers", body)
            path = f"/resource_providers/{node(number)}"
            stock = {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 65536}} if number < 3 else {}
            stock = stock or {"SRIOV_NET_VF": {"total": 8}}
            body = {"resource_provider_generation": 0, "inventories": stock}
            server.request("PUT", f"{path}/inventories", body)
            traits = ["HW_NUMA_ROOT", "HW_CPU_X86_AVX2"]
            body = {"resource_provider_generation": 1, "traits": traits}
            server.request("PUT", f"{path}/traits", body)
            body = {"resource_provider_generation": 2, "aggregates": [self.aggregate]}
            server.request("PUT", f"{path}/aggregates", body)
            for holder in range(2):
                consumer = name_based(f"on-{number}-{holder}")
                asked = dict.fromkeys(stock, 1)
                put_allocations(server, consumer, node(number), asked, None)


def put_allocations(
    server: Server,
    consumer: str,
    provider: str,
    resources: Mapping[str, int],
    known: int | None,
) -> None:
    """Send what one consumer has on one provider."""
    body = OWNER | {
        "allocations": {provider: {"resources": resources}},
        "consumer_generation": known,
    }
    server.request("PUT", f"/allocations/{consumer}", body)


def generation(server: Server, provider: str) -> int:
    """Return a provider's current generation."""
    return json.loads(server.get(f"/resource_providers/{provider}"))["generation"]


def _insert(connection: Any, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    if connection.dialect.name != "postgresql":
        for part in parts(rows, _AT_ONCE):
            connection.execute(sa.insert(table).inline(), part)
        return
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    columns = ["created_at", *rows[0]]
    text = f"COPY {table.name} ({', '.join(columns)}) FROM STDIN"
    with connection.connection.cursor().copy(text) as copy:
        for row in rows:
            copy.write_row((now, *row.values()))


def _ids(connection: Any, name: sa.Column[Any]) -> dict[str, int]:
    return dict(connection.execute(sa.select(name, name.table.c.id)).all())


def _analyze(engine: sa.Engine) -> None:
    """Let a server look at its tables, as it does by itself some minutes later."""
    if engine.dialect.name == "sqlite":
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as now:
        if engine.dialect.name == "postgresql":
            now.exec_driver_sql("ANALYZE")
            return
        for table in tables.REFERENCE_TABLES:
            now.exec_driver_sql(f"ANALYZE TABLE {table.name}").all()
