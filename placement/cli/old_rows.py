"""Counts of rows that very old versions left incomplete, for `placement-status`."""

import sqlalchemy as sa
from oslo_config import cfg

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.tables import allocations, consumers, resource_providers


def count_providers_without_root(conf: cfg.ConfigOpts) -> int:
    """Return the number of providers without a root."""
    columns = resource_providers.c
    orphans = sa.select(sa.func.count()).where(columns.root_provider_id.is_(None))
    return _count(conf, orphans.select_from(resource_providers))


def count_consumers_without_row(conf: cfg.ConfigOpts) -> int:
    """Return the number of consumers that have allocations and no row of their own."""
    incomplete = (
        sa.select(sa.func.count(allocations.c.consumer_id.distinct()))
        .select_from(
            allocations.outerjoin(consumers, allocations.c.consumer_id == consumers.c.uuid)
        )
        .where(consumers.c.id.is_(None))
    )
    return _count(conf, incomplete)


def _count(conf: cfg.ConfigOpts, question: sa.Select) -> int:
    database = Database(DatabaseSettings.of(conf.placement_database))
    try:
        return database.read(lambda connection: connection.execute(question).scalar_one())
    finally:
        database.close()
