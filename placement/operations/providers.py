"""Create, change, move and delete providers (rest-api.md 3.1, 3.2, 5)."""

import enum

from placement.domain import tree
from placement.domain.provider import Node, Provider
from placement.errors import (
    DuplicateName,
    ObjectRefused,
    ProviderHasChildren,
    ProviderInUse,
)
from placement.storage import (
    aggregates,
    allocations,
    changes,
    cluster,
    inventories,
    providers,
    traits,
)
from placement.storage.changes import Kind
from placement.storage.engine import Connection, Database
from placement.storage.tables import utcnow


class Unchanged(enum.Enum):
    """The request says nothing about the parent."""

    UNCHANGED = enum.auto()


UNCHANGED = Unchanged.UNCHANGED


def create_provider(database: Database, uuid: str, name: str, parent_uuid: str | None) -> Provider:
    """Store a new provider, a root or `parent_uuid`'s child.

    Raises ObjectRefused (no name, impossible parent) or DuplicateName.
    """

    def create(connection: Connection) -> Provider:
        parent = _parent_of_new(connection, uuid, name, parent_uuid)
        _refuse_taken(providers.taken(connection, uuid, name), uuid, name)
        if parent is not None:
            cluster.hold_trees(connection, [parent.root_id])
        provider_id = providers.insert(connection, uuid, name, parent)
        changes.record(connection, [provider_id], Kind.ROW)
        root_uuid = uuid if parent is None else providers.uuid_of(connection, parent.root_id)
        return Provider(provider_id, uuid, name, 0, parent_uuid, root_uuid, utcnow(), None)

    return database.write(create)


def _parent_of_new(
    connection: Connection, uuid: str, name: str, parent_uuid: str | None
) -> Node | None:
    if not name:
        raise ObjectRefused(action="create", reason="name is required")
    if parent_uuid is None:
        return None
    if parent_uuid == uuid:
        raise ObjectRefused(action="create", reason=tree.OWN_PARENT)
    return _existing_parent(connection, parent_uuid)


def _existing_parent(connection: Connection, uuid: str) -> Node:
    parent = providers.lock(connection, [uuid]).get(uuid)
    if parent is None:
        raise ObjectRefused(action="create", reason=tree.NO_SUCH_PARENT)
    return parent


def _refuse_taken(taken: set[str], uuid: str, name: str) -> None:
    # with both taken, the first unique key of the table is the one that is named
    if "uuid" in taken:
        raise DuplicateName(f"Conflicting resource provider uuid: {uuid} already exists.")
    if "name" in taken:
        raise DuplicateName(f"Conflicting resource provider name: {name} already exists.")


def update_provider(
    database: Database,
    uuid: str,
    name: str,
    parent_uuid: str | Unchanged | None,
    may_reparent: bool,
) -> Provider:
    """Rename a provider and, unless UNCHANGED, put it under another parent (None: make it a root).

    Answers the provider as it is now, but with `updated_at` from before. The generation stays.
    Raises ProviderNotFound, DuplicateName or ObjectRefused.
    """

    def update(connection: Connection) -> Provider:
        node = providers.lock_one(connection, uuid)
        before = providers.get(connection, uuid)
        parent, below = None, [node.id]
        if not isinstance(parent_uuid, Unchanged):
            parent, below = _plan_move(connection, node, parent_uuid, may_reparent)
        if name != before.name and "name" in providers.taken(connection, None, name):
            raise DuplicateName(f"Conflicting resource provider {name} already exists.")
        moved = (parent.id if parent else None) != node.parent_id
        if name != before.name:
            providers.rename(connection, node.id, name)
        if moved and not isinstance(parent_uuid, Unchanged):
            providers.move(connection, node.id, parent, below)
        changes.record(connection, below, Kind.ROW)
        after = providers.get(connection, uuid)
        return Provider(
            node.id,
            uuid,
            name,
            node.generation,
            after.parent_uuid,
            after.root_uuid,
            before.created_at,
            before.updated_at,
        )

    return database.write(update)


def _plan_move(
    connection: Connection, node: Node, parent_uuid: str | None, may_reparent: bool
) -> tuple[Node | None, list[int]]:
    """The new parent and the ids that move along; raises ObjectRefused if they can't."""
    parent = None if parent_uuid is None else _existing_parent(connection, parent_uuid)
    roots = {node.root_id} | ({parent.root_id} if parent else set())
    cluster.hold_trees(connection, roots)
    nodes = providers.lock_trees(connection, roots)
    below = tree.subtree(nodes.values(), node.id)
    reason = tree.why_not_move(node, parent, below, may_reparent)
    if reason is not None:
        raise ObjectRefused(action="update", reason=reason)
    return parent, below


def delete_provider(database: Database, uuid: str) -> None:
    """Remove a provider with its inventories, traits and memberships.

    Raises ProviderNotFound, ProviderHasChildren or ProviderInUse.
    """

    def delete(connection: Connection) -> None:
        node = providers.lock_one(connection, uuid)
        if providers.has_children(connection, node.id):
            raise ProviderHasChildren(uuid=uuid)
        if allocations.any_of_provider(connection, node.id):
            raise ProviderInUse(uuid=uuid)
        inventories.replace(connection, [node.id], {})
        traits.dissociate(connection, node.id)
        aggregates.remove(connection, node.id)
        providers.delete(connection, node.id)
        changes.record(connection, [node.id], Kind.DELETED)

    database.write(delete)
