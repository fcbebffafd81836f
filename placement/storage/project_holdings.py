"""The allocations of a project's consumers, one by one, and a look whether they changed."""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.list_parameters import among
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import Cursor
from placement.storage.tables import (
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    users,
)


class ProjectAllocation(NamedTuple):
    """An allocation of one of the project's consumers.

    :param consumer_id: database id
    :param user: None if the consumer's user isn't stored
    :param class_name: None if the class isn't stored
    """

    provider_id: int
    consumer_id: int
    user: str | None
    type_name: str | None
    class_id: int
    class_name: str | None
    used: int


# Outer joins, because these tables have no foreign keys: an allocation may refer to a user or a
# class that isn't stored. It counts all the same in sums that don't name users or classes.
_HELD = sa.select(
    allocations.c.resource_provider_id,
    consumers.c.id,
    users.c.external_id,
    consumer_types.c.name,
    allocations.c.resource_class_id,
    resource_classes.c.name,
    allocations.c.used,
).select_from(
    allocations.join(consumers, allocations.c.consumer_id == consumers.c.uuid)
    .outerjoin(users, consumers.c.user_id == users.c.id)
    .outerjoin(consumer_types, consumers.c.consumer_type_id == consumer_types.c.id)
    .outerjoin(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
)
_PROJECT = (
    sa.select(projects.c.id).where(projects.c.external_id == sa.bindparam("project"))
).scalar_subquery()
_ALL = Compiled(_HELD.where(consumers.c.project_id == _PROJECT))
# `+ 0` hides the column from the planner. Otherwise databases may start at the project's consumers,
# of which there may be many, and not at the allocations of some providers.
_ON_PROVIDERS = Compiled(
    _HELD.where(
        among(allocations.c.resource_provider_id, "providers"),
        consumers.c.project_id + sa.literal_column("0", sa.Integer) == _PROJECT,
    )
)
_LAST = sa.select(sa.func.max(allocations.c.id))
_NEWEST = Compiled(_LAST)
_LOOK = Compiled(sa.select(_LAST.scalar_subquery(), *change_feed.TOTALS))


def of_project(connection: Connection, project: str) -> list[ProjectAllocation]:
    """Return all that the project's consumers hold."""
    return [ProjectAllocation(*row) for row in connection.execute(_ALL, {"project": project})]


def on_providers(
    connection: Connection, project: str, provider_ids: Sequence[int]
) -> list[ProjectAllocation]:
    """Return what the project's consumers hold of some providers."""
    values = {"project": project, "providers": list(provider_ids)}
    return [ProjectAllocation(*row) for row in connection.execute(_ON_PROVIDERS, values)]


def newest(connection: Connection) -> int | None:
    """Return the id of the newest allocation of all; None: there is none."""
    last: int | None = connection.execute(_NEWEST).scalar()
    return last


def look(database: Database, cursor: Cursor, known: int | None) -> tuple[bool, bool]:
    """Return whether there is news after the cursor, and whether others wrote without telling.

    One small statement, if there is no news. Whatever service writes allocations, it inserts rows,
    and all but SQLite give each row an id of its own. What others delete doesn't show.

    :param known: what `newest` returned where the cursor is
    """
    ((now, *totals),) = database.ask(_LOOK)
    has_news = change_feed.is_behind(database, cursor, totals)
    return has_news, not has_news and now != known
