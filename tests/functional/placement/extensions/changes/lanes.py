"""Lanes of the change feed that nobody uses any more, as failovers of a cluster leave them."""

import secrets

import sqlalchemy as sa

from placement.storage import tables
from placement.storage.feed.change_feed import ChangeKind

FEED, LANES = tables.provider_changes, tables.change_lanes


def change_in_new_lanes(database, count, uuid, rows=1):
    """Change a provider in so many lanes, each of another home and with so many rows."""
    ids = sa.select(tables.resource_providers.c.id).where(tables.resource_providers.c.uuid == uuid)

    def write(connection):
        key = connection.execute(ids).scalar()
        lanes = [1 + secrets.randbits(48) for _ in range(count)]
        change = {
            "created_at": tables.utcnow(),
            "resource_provider_id": key,
            "kind": int(ChangeKind.INVENTORY),
            "before": 0,
        }
        connection.execute(
            sa.insert(FEED),
            [
                change | {"lane": lane, "position": position}
                for lane in lanes
                for position in range(1, rows + 1)
            ],
        )
        connection.execute(
            sa.insert(LANES),
            [
                {
                    "home": home,
                    "id": lane,
                    "position": rows,
                    "mark": secrets.randbits(48),
                    "before": 0,
                }
                for home, lane in enumerate(lanes, 10)
            ],
        )

    database.write(write)


def number_of_lanes(database):
    """Return how many lanes there are."""
    count = sa.select(sa.func.count()).select_from(LANES)
    return database.read(lambda connection: connection.execute(count).scalar())
