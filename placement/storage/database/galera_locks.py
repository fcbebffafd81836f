"""Locks that hold in a whole Galera cluster.

A node doesn't see the row locks of other nodes. But if transactions on two nodes write the same
row, the one that commits second fails with a deadlock, and is run again. So transactions that
exclude each other without writing a common row write an extra row and delete it again.

Other databases need only row locks; there, these functions send no statement.
"""

from collections.abc import Collection

import sqlalchemy as sa

from placement.storage.database.connection import Connection
from placement.storage.driver.mysql_sessions import CLUSTER
from placement.storage.tables import provider_changes

#: the kind of a lock, in the upper bits of its id; readers of the feed ignore ids below zero
_TREE, _RESOURCE_CLASS = 1 << 40, 2 << 40
_INSERT = sa.insert(provider_changes)


def hold_trees(connection: Connection, root_ids: Collection[int]) -> None:
    """Keep other nodes from adding providers to these trees or removing providers from them."""
    _hold(connection, [_TREE + root_id for root_id in root_ids])


def hold_classes(connection: Connection, class_ids: Collection[int]) -> None:
    """Keep other nodes from deleting these resource classes or using them for the first time."""
    _hold(connection, [_RESOURCE_CLASS + class_id for class_id in class_ids])


def _hold(connection: Connection, keys: Collection[int]) -> None:
    if not keys or not connection.info.get(CLUSTER):
        return
    ids = sorted(-key for key in keys)
    connection.execute(_INSERT, [{"id": i, "resource_provider_id": 0, "kind": 0} for i in ids])
    connection.execute(sa.delete(provider_changes).where(provider_changes.c.id.in_(ids)))
