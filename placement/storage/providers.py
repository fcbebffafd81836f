"""Rows of providers."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.domain.provider import Node, Provider
from placement.errors import ProviderNotFound
from placement.storage.compiled_select import CompiledSelect
from placement.storage.dialects import MYSQL
from placement.storage.engine import Connection, Database
from placement.storage.list_parameters import among
from placement.storage.locking import Hold, by_primary_key, locking
from placement.storage.tables import resource_providers as providers

_parent = providers.alias("parent")
_root = providers.alias("root")

#: all of a provider's columns, with its parent's and root's uuid
COLUMNS = (
    providers.c.id,
    providers.c.uuid,
    providers.c.name,
    providers.c.generation,
    _parent.c.uuid.label("parent_uuid"),
    _root.c.uuid.label("root_uuid"),
    providers.c.created_at,
    providers.c.updated_at,
)
FAMILY = providers.outerjoin(_parent, providers.c.parent_provider_id == _parent.c.id).join(
    _root, providers.c.root_provider_id == _root.c.id
)
SELECT = sa.select(*COLUMNS).select_from(FAMILY)

_BY_UUID = SELECT.where(providers.c.uuid == sa.bindparam("uuid"))
_SHOW = CompiledSelect(_BY_UUID)
_NODES = sa.select(
    providers.c.id,
    providers.c.uuid,
    providers.c.generation,
    providers.c.root_provider_id,
    providers.c.parent_provider_id,
)
_NAMED = among(providers.c.uuid, "uuids")
_NUMBERED = among(providers.c.id, "ids")
#: by whether there are uuids and ids: PostgreSQL reads the whole table for `… OR id IN (nothing)`
_FIND = {
    (True, False): _NODES.where(_NAMED),
    (False, True): _NODES.where(_NUMBERED),
    (True, True): _NODES.where(sa.or_(_NAMED, _NUMBERED)),
}
_LOCK = {
    (*key, hold): locking(question.order_by(providers.c.id), hold)
    for key, question in _FIND.items()
    for hold in Hold
}
_LOCK_NUMBERED = {hold: by_primary_key(_LOCK[False, True, hold], providers) for hold in Hold}
_PLACE = _NODES.where(providers.c.uuid == sa.bindparam("uuid"))
_LOCK_ONE = {hold: locking(_PLACE, hold) for hold in Hold}
_OF_TREES = _NODES.where(among(providers.c.root_provider_id, "roots")).order_by(providers.c.id)
_BUMP = (
    sa.update(providers)
    .where(among(providers.c.id, "ids"))
    .values(generation=providers.c.generation + 1)
)
_BUMP_BY = (
    sa.update(providers)
    .where(among(providers.c.id, "ids"))
    .values(generation=providers.c.generation + sa.bindparam("step", type_=sa.Integer))
)


def find(connection: Connection, uuid: str) -> Provider | None:
    """Return the provider, or None."""
    row = connection.execute(_BY_UUID, {"uuid": uuid}).fetchone()
    return Provider(*row) if row else None


def shown(database: Database, uuid: str) -> Provider:
    """Return the provider, with one small query. Raises ProviderNotFound."""
    rows = database.ask(_SHOW, uuid=uuid)
    if not rows:
        raise ProviderNotFound(uuid=uuid)
    return Provider(*rows[0])


def get(connection: Connection, uuid: str) -> Provider:
    """Return the provider. Raises ProviderNotFound."""
    provider = find(connection, uuid)
    if provider is None:
        raise ProviderNotFound(uuid=uuid)
    return provider


def place(connection: Connection, uuid: str) -> Node | None:
    """Return the provider's node in its tree, without a lock; None if there is no provider."""
    row = connection.execute(_PLACE, {"uuid": uuid}).one_or_none()
    return Node(*row) if row else None


def of_trees(connection: Connection, root_ids: Collection[int]) -> list[Node]:
    """Return every provider of the trees with these roots, without a lock."""
    return [Node(*row) for row in connection.execute(_OF_TREES, {"roots": list(root_ids)})]


def lock(
    connection: Connection,
    uuids: Collection[str],
    ids: Collection[int] = (),
    hold: Hold = Hold.CONTENT,
) -> dict[str, Node]:
    """Lock providers, given by uuid or id, in id order; return them by uuid.

    A transaction locks all its providers with one call. A second call might wait for a provider
    whose id is lower than those of the first. Unknown providers are missing in the result.
    """
    if not uuids and not ids:
        return {}
    given = {"uuids": list(uuids), "ids": sorted(ids)}
    wanted = {name: some for name, some in given.items() if some}
    key = bool(uuids), bool(ids)
    question = _LOCK[*key, hold]
    if connection.dialect.name in MYSQL and len(uuids) + len(ids) > 1:
        # MySQL locks rows in the order in which it reads them, the order of the index
        if uuids:
            found = connection.execute(_FIND[key], wanted).all()
            wanted = {"ids": sorted(row.id for row in found)}
            if not found:
                return {}
        question = _LOCK_NUMBERED[hold]
    rows = connection.execute(question, wanted)
    return {node.uuid: node for node in (Node(*row) for row in rows)}


def lock_one(connection: Connection, uuid: str, hold: Hold = Hold.CONTENT) -> Node:
    """Lock one provider. Raises ProviderNotFound."""
    row = connection.execute(_LOCK_ONE[hold], {"uuid": uuid}).one_or_none()
    if row is None:
        raise ProviderNotFound(uuid=uuid)
    return Node(*row)


def bump(connection: Connection, ids: Collection[int]) -> None:
    """Raise the generation of each provider by one."""
    if ids:
        connection.execute(_BUMP, {"ids": list(ids)})


def bump_by(connection: Connection, steps: dict[int, int]) -> None:
    """Raise each provider's generation by its own number of steps; few different numbers occur."""
    for step in set(steps.values()):
        ids = [provider_id for provider_id, wanted in steps.items() if wanted == step]
        connection.execute(_BUMP_BY, {"ids": ids, "step": step})


def taken(connection: Connection, uuid: str | None, name: str) -> set[str]:
    """Return which of uuid and name another provider has: a subset of {"uuid", "name"}."""
    same = providers.c.name == name
    if uuid is not None:
        same = sa.or_(providers.c.uuid == uuid, same)
    rows = connection.execute(sa.select(providers.c.uuid, providers.c.name).where(same)).all()
    found = set()
    if any(row.uuid == uuid for row in rows):
        found.add("uuid")
    if any(row.uuid != uuid or row.name == name for row in rows):
        found.add("name")
    return found


def insert(connection: Connection, uuid: str, name: str, parent: Node | None) -> int:
    """Store a new provider and return its id. A root gets its own id as root afterwards."""
    values = {"uuid": uuid, "name": name, "generation": 0}
    if parent is not None:
        values |= {"parent_provider_id": parent.id, "root_provider_id": parent.root_id}
    provider_id = inserted_id(connection.execute(sa.insert(providers).values(values)))
    if parent is None:
        connection.execute(
            sa.update(providers)
            .where(providers.c.id == provider_id)
            .values(root_provider_id=provider_id)
        )
    return provider_id


def inserted_id(result: sa.CursorResult) -> int:
    """Return the id of the row that an INSERT stored. Raises LookupError if it stored none."""
    key = result.inserted_primary_key
    if key is None:
        raise LookupError("the statement inserted no row")
    return key[0]


def rename(connection: Connection, provider_id: int, name: str) -> None:
    """Store a new name."""
    connection.execute(sa.update(providers).where(providers.c.id == provider_id).values(name=name))


def move(connection: Connection, node: Node, parent: Node | None, below: Collection[int]) -> None:
    """Move a provider and its subtree `below` under another parent (None: make it a root)."""
    root_id = node.id if parent is None else parent.root_id
    connection.execute(
        sa.update(providers)
        .where(providers.c.id == node.id)
        .values(parent_provider_id=parent.id if parent else None)
    )
    if root_id == node.root_id:
        # the rows below stay unchanged: clients see the time of their last change
        return
    # by id alone: with the root as a condition, MariaDB may use its index and wait for other rows
    connection.execute(
        sa.update(providers).where(among(providers.c.id, "ids")).values(root_provider_id=root_id),
        {"ids": list(below)},
    )


def has_children(connection: Connection, provider_id: int) -> bool:
    """Return whether some provider has this one as its parent."""
    children = sa.select(sa.literal(1)).where(providers.c.parent_provider_id == provider_id)
    return connection.execute(children.limit(1)).first() is not None


def delete(connection: Connection, provider_id: int) -> None:
    """Delete the provider's row; rows that refer to it must be deleted before."""
    this = providers.c.id == provider_id
    if connection.dialect.name in MYSQL:
        # MySQL doesn't delete a row that refers to itself, as a root does
        connection.execute(sa.update(providers).where(this).values(root_provider_id=None))
    connection.execute(sa.delete(providers).where(this))
