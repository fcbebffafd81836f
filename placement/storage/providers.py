"""Rows of providers."""

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.domain.provider import Member, Provider, TreePosition
from placement.errors import ProviderNotFound
from placement.storage import stored_names
from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Question, StatementResult
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.dialects import MYSQL
from placement.storage.driver.list_parameters import among, parts
from placement.storage.locking import Hold, by_primary_key, locking, row_lock
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
_SHOW = Compiled(_BY_UUID)
_NODES = sa.select(
    providers.c.id,
    providers.c.uuid,
    providers.c.generation,
    providers.c.root_provider_id,
    providers.c.parent_provider_id,
)
_NAMES = Compiled(
    sa.select(providers.c.uuid, providers.c.name).where(among(providers.c.uuid, "uuids"))
)
_UUID_OF_NAME = Compiled(
    sa.select(providers.c.uuid).where(providers.c.name == sa.bindparam("name"))
)
_NAMED = among(providers.c.uuid, "uuids")
_NUMBERED = among(providers.c.id, "ids")
#: By whether uuids, ids or both are given. A single question with empty lists won't do: PostgreSQL
#: reads the whole table for `uuid IN (…) OR id IN ()`.
_FIND = {
    (True, False): _NODES.where(_NAMED),
    (False, True): _NODES.where(_NUMBERED),
    (True, True): _NODES.where(sa.or_(_NAMED, _NUMBERED)),
}
_FOUND = Compiled(sa.select(providers.c.id).where(_NAMED))


def _waiting(rows: sa.Select[Any], hold: Hold, by_index: bool = True) -> Compiled:
    """Make the statement that locks rows in id order, and waits for them."""
    question = locking(rows.order_by(providers.c.id), hold)
    return Compiled(
        question if by_index else by_primary_key(question, providers),
        waits=row_lock(rows, providers, hold),
    )


_LOCK = {(*key, hold): _waiting(question, hold) for key, question in _FIND.items() for hold in Hold}
_LOCK_FREE = Compiled(locking(_NODES.where(_NAMED), Hold.CONTENT, wait=False))
_LOCK_NUMBERED = {hold: _waiting(_FIND[False, True], hold, by_index=False) for hold in Hold}
_PLACE = _NODES.where(providers.c.uuid == sa.bindparam("uuid"))
_SEE = Compiled(_PLACE)
_LOCK_ONE = {hold: _waiting(_PLACE, hold) for hold in Hold}
_OF_TREES = Compiled(
    _NODES.where(among(providers.c.root_provider_id, "roots")).order_by(providers.c.id)
)
_named = providers.alias("named")
_MEMBERS = Compiled(
    sa.select(
        providers.c.id,
        providers.c.uuid,
        providers.c.name,
        providers.c.generation,
        providers.c.root_provider_id,
        providers.c.parent_provider_id,
    ).where(
        providers.c.root_provider_id.in_(
            sa.select(_named.c.root_provider_id).where(among(_named.c.uuid, "uuids"))
        )
    )
)
_BUMP = Compiled(
    sa.update(providers)
    .where(among(providers.c.id, "ids"))
    .values(generation=providers.c.generation + 1)
)
_BUMP_BY = Compiled(
    sa.update(providers)
    .where(among(providers.c.id, "ids"))
    .values(generation=providers.c.generation + sa.bindparam("step", type_=sa.Integer))
)
_HAVING = {
    tuple(columns): sa.select(providers.c.uuid, providers.c.name).where(
        sa.or_(
            *(
                column.in_(sa.bindparam(name, expanding=True))
                for name, column in (("uuids", providers.c.uuid), ("names", providers.c.name))
                if name in columns
            )
        )
    )
    for columns in (("uuids",), ("names",), ("uuids", "names"))
}
_IDS = Compiled(sa.select(providers.c.uuid, providers.c.id).where(among(providers.c.uuid, "uuids")))
_OWN_ROOT = Compiled(
    sa.update(providers).where(among(providers.c.id, "ids")).values(root_provider_id=providers.c.id)
)
_SET_ROOT = Compiled(
    sa.update(providers)
    .where(among(providers.c.id, "ids"))
    .values(root_provider_id=sa.bindparam("root", type_=sa.Integer))
)
_child = providers.alias("child")
_HAVING_CHILDREN = Compiled(
    sa.select(providers.c.id).where(
        among(providers.c.id, "ids"),
        sa.exists().where(
            _child.c.parent_provider_id == providers.c.id, sa.not_(among(_child.c.id, "ids"))
        ),
    )
)
_ORPHAN = Compiled(
    sa.update(providers)
    .where(among(providers.c.id, "ids"))
    .values(root_provider_id=None, parent_provider_id=None)
)
_DELETE = Compiled(sa.delete(providers).where(among(providers.c.id, "ids")))
#: in how many rows one statement stores a different value each
_VALUES_AT_ONCE = 1_000


@dataclasses.dataclass(frozen=True, slots=True)
class NewProvider:
    """A provider to store.

    :param root_id: id of the root of its tree; None: the provider is a root itself
    """

    uuid: str
    name: str
    parent_id: int | None = None
    root_id: int | None = None


def find(connection: Connection, uuid: str) -> Provider | None:
    """Return the provider, or None."""
    row = connection.execute(_SHOW, {"uuid": uuid}).first()
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


def place(connection: Connection, uuid: str) -> TreePosition | None:
    """Return the provider's node in its tree, without a lock; None if there is no provider."""
    row = connection.execute(_SEE, {"uuid": uuid}).first()
    return TreePosition(*row) if row else None


def of_trees(connection: Connection, root_ids: Collection[int]) -> list[TreePosition]:
    """Return every provider of the trees with these roots, without a lock."""
    return [TreePosition(*row) for row in connection.execute(_OF_TREES, {"roots": list(root_ids)})]


def names(connection: Connection, uuids: Collection[str]) -> dict[str, str]:
    """Return the names of providers by uuid; unknown providers are left out."""
    return {
        uuid: name
        for part in parts(uuids)
        for uuid, name in connection.execute(_NAMES, {"uuids": part})
    }


def named_generations(connection: Connection) -> dict[int, tuple[str, int]]:
    """Return the names and generations of all providers by id."""
    rows = connection.execute(sa.select(providers.c.id, providers.c.name, providers.c.generation))
    return {key: (name or "", generation or 0) for key, name, generation in rows}


def uuid_of_name(connection: Connection, name: str) -> str | None:
    """Return the uuid of the provider with this name, or None."""
    return connection.execute(_UUID_OF_NAME, {"name": name}).scalar()


def members(connection: Connection, uuids: Collection[str]) -> dict[str, Member]:
    """Return every provider of the trees that have one of these providers, without a lock."""
    rows = connection.execute(_MEMBERS, {"uuids": list(uuids)})
    return {member.uuid: member for member in (Member(*row) for row in rows)}


def lock(
    connection: Connection,
    uuids: Collection[str],
    ids: Collection[int] = (),
    hold: Hold = Hold.CONTENT,
) -> dict[str, TreePosition]:
    """Lock providers, given by uuid or id, in id order; return them by uuid.

    A transaction locks all its providers with one call. A second call might wait for a provider
    whose id is lower than those of the first. Unknown providers are missing in the result.
    """
    return lock_and_ask(connection, uuids, ids, hold=hold)[0]


def lock_and_ask(
    connection: Connection,
    uuids: Collection[str],
    ids: Collection[int],
    *questions: Question,
    hold: Hold = Hold.CONTENT,
    found: StatementResult | None = None,
) -> tuple[dict[str, TreePosition], list[StatementResult]]:
    """Do as `lock`, then ask questions, in one message if that can be; return the answers, too.

    :param found: the answer to `ids_question`, if it was asked
    """
    if not uuids and not ids:
        return {}, connection.execute_all(*questions)
    given = {"uuids": list(uuids), "ids": sorted(ids)}
    wanted = {name: some for name, some in given.items() if some}
    key = bool(uuids), bool(ids)
    locking = _LOCK[*key, hold]
    if _locks_by_index(connection, len(uuids) + len(ids)):
        if uuids:
            found = found or connection.execute(_FOUND, {"uuids": list(uuids)})
            wanted = {"ids": sorted({*found.scalars(), *ids})}
            if not wanted["ids"]:
                return {}, connection.execute_all(*questions)
        locking = _LOCK_NUMBERED[hold]
    rows, *answers = connection.execute_all((locking, wanted), *questions)
    return nodes_in(rows), answers


def ids_question(connection: Connection, uuids: Collection[str]) -> list[Question]:
    """Return the question that saves `lock_and_ask` a message if it was asked before; or none."""
    # one provider that a consumer leaves for itself is locked with another one's id
    return [(_FOUND, {"uuids": list(uuids)})] if uuids and _locks_by_index(connection, 2) else []


def lock_question(connection: Connection, uuids: Collection[str]) -> Question | None:
    """Return the question that locks providers; None if the database needs more than one."""
    if not uuids or _locks_by_index(connection, len(uuids)):
        return None
    return _LOCK[True, False, Hold.CONTENT], {"uuids": list(uuids)}


def lock_free_question(uuids: Collection[str]) -> Question:
    """Return the question that locks those of the providers that nobody has locked.

    It doesn't wait. The weakest lock of the write is taken, that of `Hold.CONTENT`.
    """
    return _LOCK_FREE, {"uuids": list(uuids)}


def nodes_in(rows: Iterable[tuple[Any, ...]]) -> dict[str, TreePosition]:
    """Return the answer to a question that locks providers, by uuid."""
    return {node.uuid: node for node in (TreePosition(*row) for row in rows)}


def _locks_by_index(connection: Connection, count: int) -> bool:
    """Return whether so many rows would be locked in another order than that of their ids.

    MySQL locks rows in the order in which it reads them, the order of the index.
    """
    return connection.dialect.name in MYSQL and count > 1


def lock_one(connection: Connection, uuid: str, hold: Hold = Hold.CONTENT) -> TreePosition:
    """Lock one provider. Raises ProviderNotFound."""
    return lock_one_and_ask(connection, uuid, hold=hold)[0]


def lock_one_question(uuid: str, hold: Hold = Hold.CONTENT) -> Question:
    """Return the question that locks one provider."""
    return _LOCK_ONE[hold], {"uuid": uuid}


def lock_one_and_ask(
    connection: Connection, uuid: str, *questions: Question, hold: Hold = Hold.CONTENT
) -> tuple[TreePosition, list[StatementResult]]:
    """Lock one provider, then ask questions, in one message if that can be.

    Return the provider and the answers. Raises ProviderNotFound.
    """
    rows, *answers = connection.execute_all(lock_one_question(uuid, hold), *questions)
    row = rows.first()
    if row is None:
        raise ProviderNotFound(uuid=uuid)
    return TreePosition(*row), answers


def bump(connection: Connection, ids: Collection[int]) -> None:
    """Raise the generation of each provider by one."""
    if ids:
        connection.later(_BUMP, {"ids": list(ids)})


def bump_by(connection: Connection, steps: dict[int, int]) -> None:
    """Raise each provider's generation by its own number; one statement for each number."""
    for step in set(steps.values()):
        ids = [provider_id for provider_id, wanted in steps.items() if wanted == step]
        connection.later(_BUMP_BY, {"ids": ids, "step": step})


def having(
    connection: Connection, uuids: Collection[str], names: Collection[str]
) -> dict[str, str]:
    """Return the names of all providers that have one of the uuids or one of the names, by uuid."""
    found: dict[str, str] = {}
    shares = itertools.zip_longest(parts(uuids), parts(names))
    for share in shares:
        wanted = {
            column: part for column, part in zip(("uuids", "names"), share, strict=True) if part
        }
        found |= {uuid: name for uuid, name in connection.execute(_HAVING[tuple(wanted)], wanted)}
    return found


def repeated(connection: Connection, names: Sequence[str]) -> set[str]:
    """Return those names that equal an earlier one as the database compares them; all differ."""
    return stored_names.repeated(connection, providers.c.name, names)


def insert(connection: Connection, new: Sequence[NewProvider]) -> dict[str, int]:
    """Store new providers and return their ids by uuid. Roots get their own ids as roots."""
    rows = [
        {
            "uuid": provider.uuid,
            "name": provider.name,
            "generation": 0,
            "parent_provider_id": provider.parent_id,
            "root_provider_id": provider.root_id,
        }
        for provider in new
    ]
    if len(rows) == 1:
        ids = {new[0].uuid: inserted_id(connection.execute(sa.insert(providers).values(rows[0])))}
    else:
        connection.execute(sa.insert(providers), rows)
        stored = connection.execute(_IDS, {"uuids": [row["uuid"] for row in rows]})
        ids = {uuid: row_id for uuid, row_id in stored}
    roots = [ids[provider.uuid] for provider in new if provider.root_id is None]
    if roots:
        connection.later(_OWN_ROOT, {"ids": roots})
    return ids


def inserted_id(result: sa.CursorResult) -> int:
    """Return the id of the row that an INSERT stored. Raises LookupError if it stored none."""
    key = result.inserted_primary_key
    if key is None:
        raise LookupError("the statement inserted no row")
    return key[0]


def rename(connection: Connection, names: Mapping[int, str]) -> None:
    """Store new names, given by id. No two providers may have the same name in between."""
    _set_each(connection, "name", names)


def put_below(connection: Connection, parents: Mapping[int, int | None]) -> None:
    """Store new parents, given by id; None: no parent."""
    _set_each(connection, "parent_provider_id", parents)


def put_into_tree(connection: Connection, ids: Collection[int], root_id: int) -> None:
    """Store another root for these providers."""
    # by id alone: with the old root as a condition, MariaDB may use the index of roots, and then it
    # waits for locks on other rows
    if ids:
        connection.later(_SET_ROOT, {"ids": list(ids), "root": root_id})


def _set_each(connection: Connection, column: str, values: Mapping[int, Any]) -> None:
    """Store a value for each provider, given by id."""
    for ids in parts(sorted(values), _VALUES_AT_ONCE):
        cases = [(providers.c.id == row_id, _literal(values[row_id])) for row_id in ids]
        new = cases[0][1] if len(ids) == 1 else sa.case(*cases)
        statement = sa.update(providers).where(providers.c.id.in_(ids))
        connection.execute(statement.values({column: new}))


def _literal(value: object) -> sa.ColumnElement[Any]:
    return sa.null() if value is None else sa.literal(value)


def having_children(connection: Connection, ids: Collection[int]) -> set[int]:
    """Return the ids of those providers that have a child which isn't among them."""
    return set(connection.execute(_HAVING_CHILDREN, {"ids": list(ids)}).scalars())


def delete(connection: Connection, ids: Collection[int]) -> None:
    """Delete providers' rows; rows of other providers and tables that refer to them must be gone.

    The rows may refer to each other.
    """
    if connection.dialect.name in MYSQL:
        # MySQL deletes row by row, and refuses while a row, even the row itself, refers to it
        connection.execute(_ORPHAN, {"ids": list(ids)})
    connection.execute(_DELETE, {"ids": list(ids)})
