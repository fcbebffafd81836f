"""Create, change, move and delete providers (rest-api.md 3.1, 3.2, 5)."""

import dataclasses
from collections.abc import Mapping

from placement.domain import tree
from placement.domain.provider import UNCHANGED, Provider, TreePosition, Unchanged
from placement.domain.provider_names import refuse_taken
from placement.errors import (
    CreationRefused,
    LostRace,
    ObjectRefused,
    ProviderHasChildren,
    ProviderInUse,
    ProviderNotFound,
)
from placement.storage import aggregates, allocations, inventories, providers, traits
from placement.storage.database import galera_locks
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind
from placement.storage.locking import Hold
from placement.storage.providers import NewProvider
from placement.storage.tables import utcnow


def create_provider(database: Database, uuid: str, name: str, parent_uuid: str | None) -> Provider:
    """Store a new provider as a child of `parent_uuid`, or as a root if that is None.

    Raises CreationRefused (no name, or an invalid parent) or DuplicateName; LostRace if the parent
    was moved or deleted concurrently on every attempt.
    """

    def create(connection: Connection) -> Provider:
        refuse_new(uuid, name, parent_uuid)
        parent = None
        if parent_uuid is not None:
            parent = providers.place(connection, parent_uuid)
            if parent is None or parent.uuid != parent_uuid:
                raise CreationRefused(uuid=uuid, name=name, reason=tree.NO_SUCH_PARENT)
        refuse_taken(providers.having(connection, [uuid], [name]), {uuid: name}, {})
        new, root_uuid = NewProvider(uuid, name), uuid
        if parent is not None:
            # as late as possible, because other writers wait for the parent from here on
            root_uuid = _lock_parent(connection, parent)
            galera_locks.hold_trees(connection, [parent.root_id])
            new = NewProvider(uuid, name, parent.id, parent.root_id)
        provider_id = providers.insert(connection, [new])[uuid]
        change_feed.record(connection, [provider_id], ChangeKind.ROW)
        return Provider(provider_id, uuid, name, 0, parent_uuid, root_uuid, utcnow(), None)

    return database.write(create)


def refuse_new(uuid: str, name: str | None, parent_uuid: str | None) -> None:
    """Raise CreationRefused if a new provider has no name, or itself as its parent."""
    if not name:
        raise CreationRefused(uuid=uuid, name=name or "", reason="name is required")
    if parent_uuid == uuid:
        raise CreationRefused(uuid=uuid, name=name, reason=tree.OWN_PARENT)


def _lock_parent(connection: Connection, parent: TreePosition) -> str:
    """Lock a parent and its root, because the new row refers to both; return the root's uuid.

    Raises LostRace if the parent was deleted, or moved to another tree, before it was locked.
    """
    locked = providers.lock(connection, [], {parent.id, parent.root_id}, Hold.REFERENCE)
    now = {node.id: node for node in locked.values()}
    if parent.id not in now or now[parent.id].root_id != parent.root_id:
        raise LostRace()
    return now[parent.root_id].uuid


def update_provider(
    database: Database,
    uuid: str,
    name: str,
    parent_uuid: str | Unchanged | None,
    may_reparent: bool,
) -> Provider:
    """Rename a provider and change its parent.

    Return the provider as it is now, but with the old `updated_at`. The generation doesn't change.
    Raises ProviderNotFound, DuplicateName or ObjectRefused; LostRace if other writers moved the
    provider on every attempt.

    :param parent_uuid: UNCHANGED: keep the parent; None: make the provider a root
    :param may_reparent: whether a provider that has a parent may change it (since 1.37)
    """

    def update(connection: Connection) -> Provider:
        seen = providers.get(connection, uuid)
        move = None
        if isinstance(parent_uuid, Unchanged) or parent_uuid == seen.parent_uuid:
            if name == seen.name:
                # nothing changes, so no lock is needed
                return seen
            node = providers.lock_one(connection, uuid, Hold.PLACE)
        else:
            move = _lock_for_move(connection, uuid, parent_uuid)
            node = move.node
        before = providers.get(connection, uuid)
        if move is not None:
            new_parent_id = move.parent.id if move.parent else None
            in_circle = new_parent_id in move.below
            reason = tree.why_not_move(node.parent_id, new_parent_id, in_circle, may_reparent)
            if reason is not None:
                raise ObjectRefused(uuid=uuid, action="update", reason=reason)
        elif parent_uuid not in (UNCHANGED, before.parent_uuid):
            # another writer moved the provider before it was locked
            raise LostRace()
        if name != before.name:
            refuse_taken(providers.having(connection, [], [name]), {}, {uuid: name})
            providers.rename(connection, {node.id: name})
        if move is not None:
            move.store(connection)
        change_feed.record(connection, move.below if move else [node.id], ChangeKind.ROW)
        after = providers.get(connection, uuid) if move else before
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


@dataclasses.dataclass(frozen=True)
class _Move:
    """The planned move of a provider.

    :param parent: the new parent; None: the provider becomes a root
    :param members: ids of all providers of its tree
    :param below: ids of the provider and of its descendants
    """

    node: TreePosition
    parent: TreePosition | None
    members: set[int]
    below: list[int]

    @classmethod
    def read(cls, connection: Connection, uuid: str, parent_uuid: str | None) -> "_Move":
        """Read the current state of the trees. Raises ProviderNotFound or ObjectRefused."""
        node = providers.place(connection, uuid)
        if node is None:
            raise ProviderNotFound(uuid=uuid)
        parent = None
        if parent_uuid is not None:
            parent = providers.place(connection, parent_uuid)
            if parent is None or parent.uuid != parent_uuid:
                # the reference's word for this action, too
                raise ObjectRefused(uuid=uuid, action="create", reason=tree.NO_SUCH_PARENT)
        nodes = providers.of_trees(connection, [node.root_id])
        members = {member.id for member in nodes}
        return cls(node, parent, members, tree.subtree(nodes, node.id))

    @property
    def roots(self) -> set[int]:
        """Ids of the roots of the changed trees; their locks protect the structure of the trees."""
        return {self.node.root_id} | ({self.parent.root_id} if self.parent else set())

    @property
    def rows(self) -> set[int]:
        """Ids of the providers that the move writes, that it depends on, or that depend on it.

        A claim chooses its candidates before it locks, in the tree as it then is. It locks the
        providers that it takes resources of. The move locks all providers of the tree, so it waits
        for such a claim.
        """
        return self.members | self.roots | ({self.parent.id} if self.parent else set())

    @property
    def _target(self) -> int:
        """Id of the root of the tree that the provider comes to."""
        return self.node.id if self.parent is None else self.parent.root_id

    def store(self, connection: Connection) -> None:
        """Write the move."""
        providers.put_below(connection, {self.node.id: self.parent.id if self.parent else None})
        # within a tree, the rows below stay as they are: clients see the time of their last change
        if self._target != self.node.root_id:
            providers.put_into_tree(connection, self.below, self._target)


def _lock_for_move(connection: Connection, uuid: str, parent_uuid: str | None) -> _Move:
    """Lock all rows of a move with one statement, and return the move as read after that.

    Raises ProviderNotFound or ObjectRefused; LostRace if the trees changed before they were locked
    and the move now needs further rows, which can't be locked in order any more.
    """
    wanted = _Move.read(connection, uuid, parent_uuid).rows
    locked = {node.id for node in providers.lock(connection, [], wanted, Hold.PLACE).values()}
    move = _Move.read(connection, uuid, parent_uuid)
    if not move.rows <= locked:
        raise LostRace()
    galera_locks.hold_trees(connection, move.roots)
    return move


def delete_provider(database: Database, uuid: str) -> None:
    """Remove a provider with its inventories, traits and memberships.

    Raises ProviderNotFound, ProviderHasChildren or ProviderInUse.
    """

    def delete(connection: Connection) -> None:
        node = providers.lock_one(connection, uuid, Hold.PLACE)
        remove(connection, {uuid: node.id})
        change_feed.record_deleted(connection, {node.id: uuid})

    database.write(delete)


def remove(connection: Connection, ids: Mapping[str, int]) -> None:
    """Remove locked providers, given by uuid. The caller appends to the change feed.

    Parents and children may be among them. Raises ProviderHasChildren or ProviderInUse for the
    first one.
    """
    if not ids:
        return
    parents = providers.having_children(connection, ids.values())
    for uuid, provider_id in ids.items():
        if provider_id in parents:
            raise ProviderHasChildren(uuid=uuid)
    used = allocations.having_any(connection, ids.values())
    for uuid, provider_id in ids.items():
        if provider_id in used:
            raise ProviderInUse(uuid=uuid)
    inventories.replace(connection, ids.values(), {})
    traits.dissociate_all(connection, ids.values())
    aggregates.remove(connection, ids.values())
    providers.delete(connection, ids.values())
