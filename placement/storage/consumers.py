"""Rows of consumers, and of their projects, users and consumer types."""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.domain.consumer import Consumer
from placement.storage import stored_names
from placement.storage.database.compiled import Compiled, RowLock
from placement.storage.database.connection import Question, StatementResult
from placement.storage.database.engine import Connection
from placement.storage.driver import list_parameters
from placement.storage.driver.dialects import MYSQL
from placement.storage.driver.list_parameters import among
from placement.storage.locking import by_primary_key
from placement.storage.tables import consumer_types, consumers, projects, users

_STATES = sa.select(
    consumers.c.id,
    consumers.c.uuid,
    consumers.c.generation,
    consumers.c.project_id,
    consumers.c.user_id,
    consumers.c.consumer_type_id,
)
_BY_UUID = _STATES.where(among(consumers.c.uuid, "uuids"))
_BY_ID = _STATES.where(among(consumers.c.id, "ids"))
_IDS = Compiled(sa.select(consumers.c.id).where(among(consumers.c.uuid, "uuids")))


def _locking(rows: sa.Select[Any], wait: bool, by_index: bool = True) -> Compiled:
    """Make the statement that locks rows in id order."""
    question = rows.order_by(consumers.c.id).with_for_update(skip_locked=not wait)
    return Compiled(
        question if by_index else by_primary_key(question, consumers),
        waits=RowLock(rows, consumers, consumers.c.uuid) if wait else None,
    )


#: by whether the statement waits for consumers that others have locked
_LOCK = {wait: _locking(_BY_UUID, wait) for wait in (True, False)}
_LOCK_NUMBERED = {wait: _locking(_BY_ID, wait, by_index=False) for wait in (True, False)}
#: what an `Owner` is made of, and the rows that have it
OWNER = (
    projects.c.external_id,
    users.c.external_id,
    consumers.c.generation,
    consumer_types.c.name,
)
OWNED = (
    consumers.join(projects, consumers.c.project_id == projects.c.id)
    .join(users, consumers.c.user_id == users.c.id)
    .outerjoin(consumer_types, consumers.c.consumer_type_id == consumer_types.c.id)
)
_BUMP = Compiled(
    sa.update(consumers)
    .where(among(consumers.c.id, "ids"))
    .values(generation=consumers.c.generation + 1)
)
_GENERATIONS = Compiled(
    sa.select(consumers.c.uuid, consumers.c.generation).where(among(consumers.c.uuid, "uuids"))
)
_INSERT = Compiled(sa.insert(consumers))
_DELETE = Compiled(sa.delete(consumers).where(among(consumers.c.id, "ids")))
_SET_OWNER = Compiled(
    sa.update(consumers)
    .where(consumers.c.id == sa.bindparam("consumer"))
    .values(
        project_id=sa.bindparam("project"),
        user_id=sa.bindparam("user"),
        consumer_type_id=sa.bindparam("type"),
    )
)


_NAMED = {
    "project": (projects, projects.c.external_id),
    "user": (users, users.c.external_id),
    "type": (consumer_types, consumer_types.c.name),
}
_OWNER_IDS = Compiled(
    sa.union_all(
        *(
            sa.select(sa.literal_column(f"'{kind}'"), name, table.c.id).where(among(name, kind))
            for kind, (table, name) in _NAMED.items()
        )
    )
)
Ids = dict[str, int]


def counts_by_type(connection: Connection) -> dict[str, int]:
    """Return how many consumers there are, by their type; those without one are `unknown`."""
    rows = connection.execute(
        sa.select(consumer_types.c.name, sa.func.count())
        .select_from(
            consumers.outerjoin(consumer_types, consumers.c.consumer_type_id == consumer_types.c.id)
        )
        .group_by(consumer_types.c.name)
    )
    return {"unknown" if name is None else name: count for name, count in rows}


def ensure_owners(
    connection: Connection,
    projects: Iterable[str],
    users: Iterable[str],
    types: Iterable[str] = (),
    known: Mapping[str, Mapping[str, int]] | None = None,
) -> tuple[Ids, Ids, Ids]:
    """Return the ids of projects, users and consumer types by name; store those that are new.

    :param known: the ids that `owners_question` has found
    """
    wanted = _each_once(projects, users, types)
    found = (
        _owner_ids(connection, wanted)
        if known is None
        else {kind: dict(ids) for kind, ids in known.items()}
    )
    complete = True
    for kind, (table, name) in _NAMED.items():
        missing = sorted(value for value in wanted[kind] if value not in found[kind])
        if missing:
            stored_names.insert_missing(
                connection, table, [{name.name: value} for value in missing]
            )
            complete = False
    if not complete:
        found = _owner_ids(connection, wanted)
        for kind, (_, name) in _NAMED.items():
            missing = [value for value in wanted[kind] if value not in found[kind]]
            found[kind] |= stored_names.spelled_otherwise(
                connection, name, missing, set(found[kind])
            )
    return found["project"], found["user"], found["type"]


def _each_once(
    projects: Iterable[str], users: Iterable[str], types: Iterable[str]
) -> dict[str, list[str]]:
    given = {"project": projects, "user": users, "type": types}
    return {kind: list(dict.fromkeys(names)) for kind, names in given.items()}


def _owner_ids(connection: Connection, wanted: Mapping[str, list[str]]) -> dict[str, Ids]:
    found: dict[str, Ids] = {kind: {} for kind in _NAMED}
    # most requests name one project, one user and one type: one statement looks up all three
    shares = itertools.zip_longest(
        *(list_parameters.parts(wanted[kind]) for kind in _NAMED), fillvalue=[]
    )
    for share in shares:
        rows = connection.execute(_OWNER_IDS, dict(zip(_NAMED, share, strict=True)))
        for kind, ids in ids_by_kind(rows).items():
            found[kind] |= ids
    return found


def lock(connection: Connection, uuids: Collection[str]) -> dict[str, Consumer]:
    """Lock the consumers in id order and return them by uuid; unknown consumers are missing."""
    locked, _ = lock_and_ask(connection, uuids)
    return locked


def lock_and_ask(
    connection: Connection, uuids: Collection[str], *questions: Question, wait: bool = True
) -> tuple[dict[str, Consumer], list[StatementResult]]:
    """Lock the consumers in id order, then ask questions, in one message if that can be.

    Return the consumers by uuid, without unknown ones, and the answers.

    :param wait: whether to wait for consumers that others have locked; if not, these are missing
    """
    question = _LOCK[wait], {"uuids": list(uuids)}
    if connection.dialect.name in MYSQL and len(uuids) > 1:
        ids = connection.execute(_IDS, {"uuids": list(uuids)}).scalars()
        question = _LOCK_NUMBERED[wait], {"ids": sorted(ids)}
        if not ids:
            return {}, connection.execute_all(*questions)
    rows, *answers = connection.execute_all(question, *questions)
    return {consumer.uuid: consumer for consumer in (Consumer(*row) for row in rows)}, answers


def owners_question(
    projects: Iterable[str], users: Iterable[str], types: Iterable[str]
) -> Question | None:
    """Return the question for the ids of these names; None for more names than fit in one."""
    wanted = _each_once(projects, users, types)
    if any(len(names) > list_parameters.NAMES_PER_STATEMENT for names in wanted.values()):
        return None
    return _OWNER_IDS, wanted


def ids_by_kind(rows: Iterable[tuple[str, str, int]]) -> dict[str, Ids]:
    """Return the answer to `owners_question`, for `ensure_owners`."""
    found: dict[str, Ids] = {kind: {} for kind in _NAMED}
    for kind, name, row_id in rows:
        found[kind][name] = row_id
    return found


def generations(connection: Connection, uuids: Collection[str]) -> dict[str, int]:
    """Return the current generations by uuid, without a lock; unknown consumers are missing."""
    rows = connection.execute(_GENERATIONS, {"uuids": list(uuids)})
    return {uuid: generation for uuid, generation in rows}


def insert(connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
    """Store rows of `uuid`, `generation`, `project_id`, `user_id` and `consumer_type_id`."""
    if rows:
        connection.later(_INSERT, list(rows))


def set_owners(connection: Connection, rows: list[dict[str, int | None]]) -> None:
    """Overwrite project, user and type: rows of `consumer`, `project`, `user`, `type`, all ids."""
    if rows:
        connection.later(_SET_OWNER, rows)


def bump(connection: Connection, ids: Collection[int]) -> None:
    """Raise the generation of each consumer by one."""
    if ids:
        connection.later(_BUMP, {"ids": list(ids)})


def delete(connection: Connection, ids: Collection[int]) -> None:
    """Delete consumers."""
    if ids:
        connection.later(_DELETE, {"ids": list(ids)})
