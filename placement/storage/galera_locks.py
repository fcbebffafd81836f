"""Locks that hold in a whole Galera cluster.

Row locks are known to their own node alone. What two nodes both wrote is noticed: the one that
commits second is told of a deadlock, and runs again. So transactions that must not go along with
each other, but need not write the same row, write one for that purpose, and remove it.

Elsewhere row locks do, and nothing is sent.
"""

from collections.abc import Collection

import sqlalchemy as sa

from placement.storage.connections import Connection
from placement.storage.mysql_sessions import CLUSTER
from placement.storage.tables import provider_changes

#: what a lock is for, in the upper bits of its id; ids below zero are in no reader's way
_TREE, _RESOURCE_CLASS = 1 << 40, 2 << 40
_INSERT = sa.insert(provider_changes)


def hold_trees(connection: Connection, root_ids: Collection[int]) -> None:
    """Let nobody else change which providers are in these trees."""
    _hold(connection, [_TREE + root_id for root_id in root_ids])


def hold_classes(connection: Connection, class_ids: Collection[int]) -> None:
    """Let nobody else use these resource classes for the first time, or delete them."""
    _hold(connection, [_RESOURCE_CLASS + class_id for class_id in class_ids])


def _hold(connection: Connection, keys: Collection[int]) -> None:
    if not keys or not connection.info.get(CLUSTER):
        return
    ids = sorted(-key for key in keys)
    connection.execute(_INSERT, [{"id": i, "resource_provider_id": 0, "kind": 0} for i in ids])
    connection.execute(sa.delete(provider_changes).where(provider_changes.c.id.in_(ids)))
