"""Create, rename and delete custom resource classes (rest-api.md 3.11)."""

from collections.abc import Collection

from placement.errors import ResourceClassExists, ResourceClassInUse, StandardNameFixed
from placement.storage import resource_classes
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind


def create_resource_class(database: Database, name: str) -> None:
    """Store a new custom class. Raises ResourceClassExists."""
    if not ensure_resource_class(database, name):
        raise ResourceClassExists(f"Conflicting resource class already exists: {name}")


def ensure_resource_class(database: Database, name: str) -> bool:
    """Create the class if it is missing; return whether it was missing."""

    def ensure(connection: Connection) -> bool:
        missing = create_missing(connection, [name])
        if missing:
            change_feed.record_names(connection)
        return bool(missing)

    return database.write(ensure)


def create_missing(connection: Connection, names: Collection[str]) -> set[str]:
    """Create those of the custom classes that are missing, and return their names.

    The caller appends to the change feed.
    """
    missing = set(names) - resource_classes.stored(connection, names)
    resource_classes.insert_custom(connection, missing)
    return missing


def rename_resource_class(database: Database, name: str, new_name: str) -> None:
    """Rename a custom class.

    Raises ResourceClassNotFound, ResourceClassExists or StandardNameFixed.
    """

    def rename(connection: Connection) -> None:
        found = resource_classes.get(connection, name, lock=True)
        if found.standard:
            raise StandardNameFixed(f"Cannot update standard resource class {name}")
        if new_name == name:
            return
        if resource_classes.exists(connection, new_name):
            raise ResourceClassExists(name=new_name)
        resource_classes.rename(connection, found.id, new_name)
        # snapshots that follow the feed have inventories under the old name
        renamed = dict.fromkeys(
            resource_classes.providers_with(connection, found.id), ChangeKind.INVENTORY
        )
        change_feed.record_each(connection, {NO_PROVIDER: ChangeKind.NAMES, **renamed})

    database.write(rename)


def delete_resource_class(database: Database, name: str) -> None:
    """Remove a custom class.

    Raises ResourceClassNotFound, StandardNameFixed or ResourceClassInUse.
    """

    def delete(connection: Connection) -> None:
        found = resource_classes.get(connection, name, lock=True)
        if found.standard:
            raise StandardNameFixed(f"Cannot delete standard resource class {name}.")
        resource_classes.keep(connection, [found.id])
        if resource_classes.in_use(connection, found.id):
            raise ResourceClassInUse(name=name)
        resource_classes.delete(connection, found.id)
        change_feed.record_names(connection)

    database.write(delete)
