"""Puts a world of the twin into a service's database, and a question into a query string."""

import itertools
import uuid

import sqlalchemy as sa

from placement.storage import tables
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind
from tests import leftovers
from tests.functional.placement.service import Service
from tests.properties.worlds import AGGREGATES, TRAITS, UNKNOWN_AGGREGATE

NAMESPACE = uuid.UUID("5f0f7d0a-4f5c-4e6b-8f0e-1c1d5e7a9b3c")
#: unknown providers and aggregates have uuids, too
AGGREGATE_UUIDS = {name: str(uuid.uuid5(NAMESPACE, name)) for name in AGGREGATES} | {
    UNKNOWN_AGGREGATE: str(uuid.uuid5(NAMESPACE, UNKNOWN_AGGREGATE))
}


def sqlite_in(folder):
    """Return the URL of a database in a folder, for what doesn't depend on the kind of database."""
    return f"sqlite:///{folder}/placement.db"


class Stage:
    """One service whose cloud is replaced by each world, as other writers would do it."""

    def __init__(self, url, **options):
        self.service = Service(url, **options)
        self.database = Database(DatabaseSettings(url, sqlite_synchronous=False))
        leftovers.owner().at_end(self.database.close)
        for name in TRAITS:
            self.service.write("PUT", f"/traits/{name}")
        self._ids = itertools.count(1)
        self._shown = []
        self.uuids = {}

    def show(self, world):
        """Replace the cloud, telling the change feed."""
        gone, self._shown = self._shown, [next(self._ids) for _ in world.providers]
        ids = dict(zip(world.providers, self._shown, strict=True))
        self.uuids = {name: str(uuid.uuid5(NAMESPACE, f"{name} {ids[name]}")) for name in ids}
        self.uuids["nobody"] = str(uuid.uuid5(NAMESPACE, "no provider"))

        def write(connection):
            # MariaDB looks at each row that is deleted, whether another one is its child
            nobody = {"parent_provider_id": None, "root_provider_id": None}
            connection.execute(sa.update(tables.resource_providers).values(nobody))
            for table in (
                tables.inventories,
                tables.allocations,
                tables.resource_provider_traits,
                tables.resource_provider_aggregates,
                tables.resource_providers,
            ):
                connection.execute(sa.delete(table))
            _insert(connection, world, ids, self.uuids)
            change_feed.record(connection, gone, ChangeKind.DELETED)
            change_feed.record(connection, ids.values(), ChangeKind.ROW)

        self.database.write(write)

    def query(self, question):
        """Return the question as a query string."""
        parts = []
        for ask in question.asks:
            parts += self._group(ask)
        if question.policy:
            parts.append(f"group_policy={question.policy}")
        root = sorted(question.root_required) + [f"!{n}" for n in sorted(question.root_forbidden)]
        if root:
            parts.append(f"root_required={','.join(root)}")
        parts += [f"same_subtree={','.join(sorted(subtree))}" for subtree in question.subtrees]
        if question.limit:
            parts.append(f"limit={question.limit}")
        return "&".join(parts)

    def _group(self, ask):
        parts = []
        if ask.resources:
            amounts = ",".join(f"{name}:{amount}" for name, amount in ask.resources.items())
            parts.append(f"resources{ask.suffix}={amounts}")
        plain = [next(iter(some)) for some in ask.required if len(some) == 1]
        plain += [f"!{name}" for name in sorted(ask.forbidden)]
        if plain:
            parts.append(f"required{ask.suffix}={','.join(plain)}")
        for some in ask.required:
            if len(some) > 1:
                parts.append(f"required{ask.suffix}=in:{','.join(sorted(some))}")
        for some in ask.member_of:
            parts.append(f"member_of{ask.suffix}=in:{self._aggregates(some)}")
        if ask.not_member_of:
            parts.append(f"member_of{ask.suffix}=!in:{self._aggregates(ask.not_member_of)}")
        if ask.in_tree:
            parts.append(f"in_tree{ask.suffix}={self.uuids[ask.in_tree]}")
        return parts

    def _aggregates(self, names):
        return ",".join(AGGREGATE_UUIDS[name] for name in sorted(names))


def _insert(connection, world, ids, uuids):
    def rows(table, values):
        if values:
            connection.execute(sa.insert(table), values)

    def key_of(table, column, names):
        found = connection.execute(sa.select(column, table.c.id).where(column.in_(names)))
        return {name: key for name, key in found}

    known = key_of(
        tables.placement_aggregates, tables.placement_aggregates.c.uuid, AGGREGATE_UUIDS.values()
    )
    missing = [AGGREGATE_UUIDS[n] for n in AGGREGATES if AGGREGATE_UUIDS[n] not in known]
    rows(tables.placement_aggregates, [{"uuid": value} for value in missing])
    aggregate_ids = key_of(
        tables.placement_aggregates, tables.placement_aggregates.c.uuid, AGGREGATE_UUIDS.values()
    )
    trait_ids = key_of(tables.traits, tables.traits.c.name, world.known_traits)
    class_ids = key_of(tables.resource_classes, tables.resource_classes.c.name, world.known_classes)
    providers, stocks, used, traits, members = [], [], [], [], []
    for name, provider in world.providers.items():
        key = ids[name]
        parent = None if provider.parent is None else ids[provider.parent]
        providers.append(
            {
                "id": key,
                "uuid": uuids[name],
                "name": f"{name} {key}",
                "generation": 0,
                "parent_provider_id": parent,
                "root_provider_id": ids[world.root(name)],
            }
        )
        traits += [
            {"resource_provider_id": key, "trait_id": trait_ids[trait]}
            for trait in sorted(provider.traits)
        ]
        members += [
            {"resource_provider_id": key, "aggregate_id": aggregate_ids[AGGREGATE_UUIDS[label]]}
            for label in sorted(provider.aggregates)
        ]
        for resource_class, stock in provider.stock.items():
            slot = {
                "resource_provider_id": key,
                "resource_class_id": class_ids[resource_class],
            }
            stocks.append(
                slot
                | {
                    field: getattr(stock, field)
                    for field in (
                        "total",
                        "reserved",
                        "min_unit",
                        "max_unit",
                        "step_size",
                        "allocation_ratio",
                    )
                }
            )
            # usage is a sum over consumers
            for number, part in enumerate((stock.used // 2, stock.used - stock.used // 2)):
                if part:
                    used.append(slot | {"consumer_id": f"consumer {number}", "used": part})
    rows(tables.resource_providers, providers)
    rows(tables.inventories, stocks)
    rows(tables.allocations, used)
    rows(tables.resource_provider_traits, traits)
    rows(tables.resource_provider_aggregates, members)
