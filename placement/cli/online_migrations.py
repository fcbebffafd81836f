"""Online migrations: complete very old rows, beside a running service (rest-api.md 7.3)."""

import collections
import dataclasses
import functools
import logging
from collections.abc import Callable

import sqlalchemy as sa

from placement.storage import consumers
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.list_parameters import among
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind
from placement.storage.tables import allocations, resource_providers
from placement.storage.tables import consumers as consumers_table

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class IncompleteOwner:
    """Project and user for consumers that were stored without any."""

    project: str
    user: str


@dataclasses.dataclass
class Count:
    """Number of rows that a migration found, and that it completed."""

    found: int = 0
    done: int = 0


@dataclasses.dataclass
class MigrationOutcome:
    """The result of a run: counts by migration, and whether one failed."""

    counts: dict[str, Count]
    failed: bool = False

    @property
    def done(self) -> int:
        return sum(count.done for count in self.counts.values())


Migration = Callable[..., Count]


def set_root_provider_ids(connection: Connection, limit: int, owner: IncompleteOwner) -> Count:
    """Make providers without a root their own roots; such rows are older than nested providers."""
    columns = resource_providers.c
    found = list(
        connection.execute(
            sa.select(columns.id).where(columns.root_provider_id.is_(None)).limit(limit)
        ).scalars()
    )
    if found:
        connection.execute(
            sa.update(resource_providers)
            .where(columns.id.in_(found))
            .values(root_provider_id=columns.id)
        )
        change_feed.record(connection, found, ChangeKind.ROW)
    return Count(len(found), len(found))


def create_incomplete_consumers(
    connection: Connection, limit: int, owner: IncompleteOwner
) -> Count:
    """Insert a row, with the configured owner, for each consumer that only allocations name."""
    projects, users, _ = consumers.ensure_owners(connection, [owner.project], [owner.user])
    missing = (
        sa.select(allocations.c.consumer_id)
        .outerjoin(consumers_table, allocations.c.consumer_id == consumers_table.c.uuid)
        .where(consumers_table.c.id.is_(None))
        .distinct()
        .limit(limit)
    )
    found = list(connection.execute(missing).scalars())
    if found:
        rows = [
            {"uuid": uuid, "project_id": projects[owner.project], "user_id": users[owner.user]}
            for uuid in found
        ]
        connection.execute(sa.insert(consumers_table), rows)
        theirs = sa.select(allocations.c.resource_provider_id).where(
            among(allocations.c.consumer_id, "consumers")
        )
        holding = connection.execute(theirs.distinct(), {"consumers": found}).scalars()
        change_feed.record(connection, holding, ChangeKind.USAGE)
    return Count(len(found), len(found))


MIGRATIONS: dict[str, Migration] = {
    "set_root_provider_ids": set_root_provider_ids,
    "create_incomplete_consumers": create_incomplete_consumers,
}


def run(
    database: Database, owner: IncompleteOwner, limit: int | None, batch: int
) -> MigrationOutcome:
    """Run one batch of at most `limit` rows; if `limit` is None, run batches until all is done.

    :param batch: number of rows in each batch if `limit` is None
    """
    outcome = MigrationOutcome(collections.defaultdict(Count))
    while True:
        done = _run_batch(database, owner, limit or batch, limit is not None, outcome)
        if limit is not None or not done:
            return outcome


def _run_batch(
    database: Database, owner: IncompleteOwner, rows: int, limited: bool, outcome: MigrationOutcome
) -> int:
    done = 0
    for name, migration in MIGRATIONS.items():
        left = rows - done if limited else rows
        if left <= 0:
            break
        step = functools.partial(migration, limit=left, owner=owner)
        try:
            count = database.write(step)
        except Exception:
            LOG.exception("Error attempting to run %s", name)
            print(f"Error attempting to run {name}")
            outcome.failed = True
            count = Count()
        if count.found:
            print(f"{count.found} rows matched query {name}, {count.done} migrated")
        outcome.counts[name].found += count.found
        outcome.counts[name].done += count.done
        done += count.done
    return done
