"""Snapshots of small clouds, from a database in memory."""

import itertools

import pytest
import sqlalchemy as sa

from placement.candidates.live import loading
from placement.storage import tables
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import schema_upgrade


class Clouds:
    """Builds clouds: `{name: (parent or None, {class: total}, [traits], [aggregates])}`."""

    def __init__(self, database):
        self._database = database

    def snapshot(self, providers):
        """Return what a service would read; the database has no cloud again afterwards."""
        with self._database.transaction() as connection:
            found = self._build(connection, providers)
            connection.plain.rollback()
        return found

    def _build(self, connection, providers):
        ids = dict(zip(providers, itertools.count(1), strict=False))
        names = {row.name: row.id for row in connection.execute(sa.select(tables.traits))}
        classes = {
            row.name: row.id for row in connection.execute(sa.select(tables.resource_classes))
        }
        aggregates = {}
        for name, (parent, stock, traits, labels) in providers.items():
            root = name
            while providers[root][0]:
                root = providers[root][0]
            row = {
                "id": ids[name],
                "uuid": name,
                "name": name,
                "parent_provider_id": ids.get(parent),
                "root_provider_id": ids[root],
            }
            connection.execute(sa.insert(tables.resource_providers).values(row))
            for resource_class, total in stock.items():
                connection.execute(
                    sa.insert(tables.inventories).values(
                        resource_provider_id=ids[name],
                        resource_class_id=classes[resource_class],
                        total=total,
                        reserved=0,
                        min_unit=1,
                        max_unit=total,
                        step_size=1,
                        allocation_ratio=1.0,
                    )
                )
            for trait in traits:
                connection.execute(
                    sa.insert(tables.resource_provider_traits).values(
                        resource_provider_id=ids[name], trait_id=names[trait]
                    )
                )
            for label in labels:
                if label not in aggregates:
                    aggregates[label] = len(aggregates) + 1
                    connection.execute(
                        sa.insert(tables.placement_aggregates).values(
                            id=aggregates[label], uuid=label
                        )
                    )
                connection.execute(
                    sa.insert(tables.resource_provider_aggregates).values(
                        resource_provider_id=ids[name], aggregate_id=aggregates[label]
                    )
                )
        return loading.load(connection)


@pytest.fixture(scope="module")
def clouds():
    database = Database(DatabaseSettings("sqlite://"))
    schema_upgrade.sync(database)
    schema_upgrade.sync_standard_names(database)
    yield Clouds(database)
    database.close()


def host(**stock):
    return None, stock, [], []


def child(parent, **stock):
    return parent, stock, [], []
