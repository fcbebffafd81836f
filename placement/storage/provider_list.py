"""Long lists of providers, with what their JSON says and no more (rest-api.md 3.1)."""

import dataclasses
import datetime
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.list_parameters import among, parts
from placement.storage.providers import COLUMNS, FAMILY
from placement.storage.tables import resource_providers as providers

#: uuid, name, generation, uuid of the parent or None, uuid of the root
Listed = tuple[str, str, int, str | None, str]

#: When a provider last changed, as the driver returns it. To make a datetime of it costs as much as
#: the rest of the row, and only the latest one is needed.
CHANGED = sa.type_coerce(
    sa.func.coalesce(providers.c.updated_at, providers.c.created_at), sa.String
).label("changed")
_COLUMNS = (
    providers.c.id,
    providers.c.uuid,
    providers.c.name,
    providers.c.generation,
    providers.c.parent_provider_id,
    providers.c.root_provider_id,
    CHANGED,
)
_ALL = Compiled(
    sa.select(*_COLUMNS).where(providers.c.root_provider_id.is_not(None)).order_by(providers.c.id)
)
_JOINED = sa.select(*COLUMNS[1:6], CHANGED).select_from(FAMILY)
_NAMED = Compiled(_JOINED.where(providers.c.name == sa.bindparam("name")))
_WITH_UUID = Compiled(_JOINED.where(providers.c.uuid == sa.bindparam("uuid")))
_WITH_IDS = Compiled(
    sa.select(*_COLUMNS[:4], *COLUMNS[4:6], CHANGED)
    .select_from(FAMILY)
    .where(among(providers.c.id, "ids"))
)
#: ids in one statement
_AT_ONCE = 10_000


class Numbered(NamedTuple):
    """A provider with its id, and when it last changed, as the driver says it."""

    provider_id: int
    uuid: str
    name: str
    generation: int
    parent_uuid: str | None
    root_uuid: str
    changed: Any


@dataclasses.dataclass(frozen=True)
class ProviderList:
    """Providers, ordered by id.

    :param modified: when one of them last changed; None: not known, or there are none
    """

    providers: Sequence[Listed]
    modified: datetime.datetime | None


def all_of(database: Database) -> ProviderList:
    """Return all providers, with one statement without joins."""
    rows = database.ask(_ALL)
    uuid_of: dict[int | None, str | None] = {row[0]: row[1] for row in rows}
    uuid_of[None] = None
    listed: Any = [
        (uuid, name, generation, uuid_of[parent], uuid_of[root])
        for _, uuid, name, generation, parent, root, _ in rows
    ]
    return ProviderList(listed, newest([row[6] for row in rows]))


def with_ids(connection: Connection, ids: Collection[int]) -> list[Numbered]:
    """Return some providers, unordered. Those without a root, which are in no list, are missing."""
    return [
        Numbered(*row)
        for part in parts(ids, _AT_ONCE)
        for row in connection.execute(_WITH_IDS, {"ids": part})
    ]


def named(database: Database, name: str) -> ProviderList:
    """Return the providers with a name, with one statement: at most one."""
    return _of_rows(database.ask(_NAMED, name=name))


def with_uuid(database: Database, uuid: str) -> ProviderList:
    """Return the providers with a uuid, with one statement: at most one."""
    return _of_rows(database.ask(_WITH_UUID, uuid=uuid))


def _of_rows(rows: Sequence[Any]) -> ProviderList:
    return ProviderList([row[:-1] for row in rows], newest([row[-1] for row in rows]))


def newest(changed: Sequence[Any]) -> datetime.datetime | None:
    """Return the latest of times that are as the driver says them; None for no time."""
    last = max((moment for moment in changed if moment is not None), default=None)
    # SQLite has times as texts that are ordered like the times
    return datetime.datetime.fromisoformat(last) if isinstance(last, str) else last
