"""Resource classes: names and ids; the ids of standard classes are fixed (rest-api.md 6.3)."""

import dataclasses
import datetime
from collections.abc import Collection, Iterable

import os_resource_classes
import sqlalchemy as sa

from placement.domain.names import FIRST_CUSTOM_CLASS_ID
from placement.errors import IdsUsedUp, ResourceClassNotFound
from placement.storage.database import galera_locks
from placement.storage.database.compiled import Compiled, RowLock
from placement.storage.database.engine import Connection
from placement.storage.driver.list_parameters import among, parts
from placement.storage.tables import allocations, inventories, resource_classes, utcnow

#: id = index; written to every database at start-up
STANDARD_NAMES: tuple[str, ...] = tuple(os_resource_classes.STANDARDS)
#: that of 32 bits, as in the tables of OpenStack Placement
_LARGEST_ID = 2**31 - 1
_STANDARD_IDS = {name: index for index, name in enumerate(STANDARD_NAMES)}

_NAMED = sa.select(resource_classes.c.id, resource_classes.c.name).where(
    among(resource_classes.c.name, "names")
)
_BY_NAME = Compiled(_NAMED)
_BY_NAME_SHARED = Compiled(
    _NAMED.with_for_update(read=True),
    waits=RowLock(_NAMED, resource_classes, resource_classes.c.name, read=True),
)
_BY_ID = Compiled(
    sa.select(resource_classes.c.id, resource_classes.c.name).where(
        among(resource_classes.c.id, "ids")
    )
)
_COLUMNS = (
    resource_classes.c.id,
    resource_classes.c.name,
    sa.func.coalesce(resource_classes.c.updated_at, resource_classes.c.created_at),
)


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceClass:
    """A class with its row time."""

    id: int
    name: str
    modified: datetime.datetime | None

    @property
    def standard(self) -> bool:
        return self.id < FIRST_CUSTOM_CLASS_ID


def ids_of(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the ids by name, in the given order. Raises ResourceClassNotFound.

    The exception names the first unknown class. Standard classes cost no statement, all others
    together cost one.
    """
    return _ids_of(connection, names, _BY_NAME)


def are_standard(names: Iterable[str]) -> bool:
    """Return whether all of the classes are standard classes: `ids_of` asks nothing for these."""
    return all(name in _STANDARD_IDS for name in names)


def ids_to_store(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the same as `ids_of`, and lock custom classes against deletion for this write."""
    return _ids_of(connection, names, _BY_NAME_SHARED)


def _ids_of(connection: Connection, names: Iterable[str], question: Compiled) -> dict[str, int]:
    wanted = list(dict.fromkeys(names))
    custom = [name for name in wanted if name not in _STANDARD_IDS]
    if not custom:
        return {name: _STANDARD_IDS[name] for name in wanted}
    found = dict(_STANDARD_IDS)
    for part in parts(custom):
        rows = connection.execute(question, {"names": part})
        found.update({name: class_id for class_id, name in rows})
    for name in wanted:
        if name not in found:
            raise ResourceClassNotFound(name=name)
    return {name: found[name] for name in wanted}


def names_of(connection: Connection, ids: Collection[int]) -> dict[int, str]:
    """Return the names by id; ids without a row are missing."""
    standard = {i: STANDARD_NAMES[i] for i in ids if i < len(STANDARD_NAMES)}
    others = [i for i in set(ids) if i not in standard]
    if others:
        standard.update({key: name for key, name in connection.execute(_BY_ID, {"ids": others})})
    return standard


def all_of_them(connection: Connection) -> list[ResourceClass]:
    """Return all classes, standard ones first, each part ordered by id."""
    rows = connection.execute(sa.select(*_COLUMNS).order_by(resource_classes.c.id))
    return [ResourceClass(*row) for row in rows]


def get(connection: Connection, name: str, lock: bool = False) -> ResourceClass:
    """Return the class of that name; `lock` locks it. Raises ResourceClassNotFound."""
    question = sa.select(*_COLUMNS).where(resource_classes.c.name == name)
    row = connection.execute(question.with_for_update() if lock else question).one_or_none()
    if row is None:
        raise ResourceClassNotFound(name=name)
    return ResourceClass(*row)


def keep(connection: Connection, ids: Iterable[int]) -> None:
    """Lock the custom classes among these against writes on other nodes of a cluster."""
    galera_locks.hold_classes(connection, {i for i in ids if i >= FIRST_CUSTOM_CLASS_ID})


def exists(connection: Connection, name: str) -> bool:
    """Return whether there is a class of that name."""
    return bool(stored(connection, [name]))


def stored(connection: Connection, names: Iterable[str]) -> set[str]:
    """Return those of the names that a class has, as the database spells them."""
    return {
        name for part in parts(names) for _, name in connection.execute(_BY_NAME, {"names": part})
    }


def insert_custom(connection: Connection, names: Collection[str]) -> None:
    """Store custom classes under the next free ids. Raises IdsUsedUp."""
    if not names:
        return
    newest = connection.execute(sa.select(sa.func.max(resource_classes.c.id))).scalar()
    next_id = max(FIRST_CUSTOM_CLASS_ID, (newest or 0) + 1)
    if next_id + len(names) - 1 > _LARGEST_ID:
        raise IdsUsedUp()
    rows = [{"id": row_id, "name": name} for row_id, name in enumerate(sorted(names), next_id)]
    connection.execute(sa.insert(resource_classes), rows)


def rename(connection: Connection, class_id: int, name: str) -> None:
    """Store a new name for a custom class."""
    connection.execute(
        sa.update(resource_classes).where(resource_classes.c.id == class_id).values(name=name)
    )


def in_use(connection: Connection, class_id: int) -> bool:
    """Return whether any provider has inventory of the class."""
    question = sa.select(sa.literal(1)).where(inventories.c.resource_class_id == class_id)
    return connection.execute(question.limit(1)).first() is not None


def providers_with(connection: Connection, class_id: int) -> list[int]:
    """Return the ids of providers that have inventory or allocations of the class."""
    tables = (inventories, allocations)
    holders = [
        sa.select(table.c.resource_provider_id).where(table.c.resource_class_id == class_id)
        for table in tables
    ]
    return sorted(connection.execute(sa.union(*holders)).scalars())


def delete(connection: Connection, class_id: int) -> None:
    """Delete the class."""
    connection.execute(sa.delete(resource_classes).where(resource_classes.c.id == class_id))


def sync(connection: Connection) -> bool:
    """Store the missing standard classes; return whether there were any."""
    there = set(connection.execute(sa.select(resource_classes.c.name)).scalars())
    missing = [
        {"id": index, "name": name, "created_at": utcnow()}
        for index, name in enumerate(STANDARD_NAMES)
        if name not in there
    ]
    if missing:
        connection.execute(sa.insert(resource_classes), missing)
    return bool(missing)
