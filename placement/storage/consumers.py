"""Consumers and what they belong to: projects, users, consumer types."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa

from placement.domain.consumer import Consumer, Owner
from placement.storage.engine import Connection
from placement.storage.tables import consumer_types, consumers, projects, users

_LOCK = (
    sa.select(
        consumers.c.id,
        consumers.c.uuid,
        consumers.c.generation,
        consumers.c.project_id,
        consumers.c.user_id,
        consumers.c.consumer_type_id,
    )
    .where(consumers.c.uuid.in_(sa.bindparam("uuids", expanding=True)))
    .order_by(consumers.c.id)
    .with_for_update()
)
_OWNER = (
    sa.select(
        projects.c.external_id, users.c.external_id, consumers.c.generation, consumer_types.c.name
    )
    .select_from(
        consumers.join(projects, consumers.c.project_id == projects.c.id)
        .join(users, consumers.c.user_id == users.c.id)
        .outerjoin(consumer_types, consumers.c.consumer_type_id == consumer_types.c.id)
    )
    .where(consumers.c.uuid == sa.bindparam("uuid"))
)
_BUMP = (
    sa.update(consumers)
    .where(consumers.c.id.in_(sa.bindparam("ids", expanding=True)))
    .values(generation=consumers.c.generation + 1)
)
_SET_OWNER = (
    sa.update(consumers)
    .where(consumers.c.id == sa.bindparam("consumer"))
    .values(
        project_id=sa.bindparam("project"),
        user_id=sa.bindparam("user"),
        consumer_type_id=sa.bindparam("type"),
    )
)


def _names_statement(table: sa.Table, column: sa.Column) -> sa.Select:
    return sa.select(column, table.c.id).where(column.in_(sa.bindparam("names", expanding=True)))


_PROJECTS = _names_statement(projects, projects.c.external_id)
_USERS = _names_statement(users, users.c.external_id)
_TYPES = _names_statement(consumer_types, consumer_types.c.name)


def ensure_projects(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """The id of each project, stored if new."""
    return _ensure(connection, projects, "external_id", _PROJECTS, names)


def ensure_users(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """The id of each user, stored if new."""
    return _ensure(connection, users, "external_id", _USERS, names)


def ensure_types(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """The id of each consumer type, stored if new."""
    return _ensure(connection, consumer_types, "name", _TYPES, names)


def _ensure(
    connection: Connection, table: sa.Table, column: str, by_name: sa.Select, names: Iterable[str]
) -> dict[str, int]:
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return {}

    def look_up() -> dict[str, int]:
        return {row[0]: row[1] for row in connection.execute(by_name, {"names": wanted})}

    found = look_up()
    missing = [name for name in wanted if name not in found]
    if missing:
        connection.execute(sa.insert(table), [{column: name} for name in missing])
        found = look_up()
    return found


def lock(connection: Connection, uuids: Collection[str]) -> dict[str, Consumer]:
    """Lock the consumers for this transaction, in id order; keyed by uuid, unknown ones missing."""
    rows = connection.execute(_LOCK, {"uuids": list(uuids)})
    return {consumer.uuid: consumer for consumer in (Consumer(*row) for row in rows)}


def insert(connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
    """Store consumers: `uuid`, `project_id`, `user_id`, `consumer_type_id` of each."""
    connection.execute(sa.insert(consumers), rows)


def set_owners(connection: Connection, rows: list[dict[str, int | None]]) -> None:
    """Overwrite project, user and type: rows of `consumer`, `project`, `user`, `type`, all ids."""
    if rows:
        connection.execute(_SET_OWNER, rows)


def bump(connection: Connection, ids: Collection[int]) -> None:
    """Raise the generation of each consumer by one."""
    if ids:
        connection.execute(_BUMP, {"ids": list(ids)})


def delete(connection: Connection, ids: Collection[int]) -> None:
    """Remove consumers."""
    if ids:
        connection.execute(sa.delete(consumers).where(consumers.c.id.in_(list(ids))))


def owner(connection: Connection, uuid: str) -> Owner | None:
    """The consumer's attributes by name, or None if there is no such consumer."""
    row = connection.execute(_OWNER, {"uuid": uuid}).one_or_none()
    return Owner(*row) if row else None
