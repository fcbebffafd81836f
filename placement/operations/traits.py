"""Create and delete traits, and set the traits of providers (rest-api.md 3.5, 3.12)."""

from placement.domain.names import is_custom
from placement.errors import (
    GenerationConflict,
    StandardNameFixed,
    TraitInUse,
    TraitNotFound,
    UnknownTraits,
)
from placement.storage import change_feed, providers, traits
from placement.storage.change_feed import Kind
from placement.storage.engine import Connection, Database
from placement.storage.traits import Trait


def ensure_trait(database: Database, name: str) -> tuple[Trait, bool]:
    """Create the trait if it is missing; return the trait, and whether it was missing."""

    def ensure(connection: Connection) -> tuple[Trait, bool]:
        found = traits.named(connection, [name]).get(name)
        if found is not None:
            return found, False
        traits.insert(connection, name)
        change_feed.record_names(connection)
        return traits.named(connection, [name])[name], True

    return database.write(ensure)


def delete_trait(database: Database, name: str) -> None:
    """Remove a custom trait. Raises StandardNameFixed, TraitNotFound or TraitInUse."""

    def delete(connection: Connection) -> None:
        found = traits.named(connection, [name]).get(name)
        if found is None:
            raise TraitNotFound(name=name)
        if not is_custom(name):
            raise StandardNameFixed(f"Cannot delete standard trait {name}.")
        if traits.in_use(connection, found.id):
            raise TraitInUse(name=name)
        traits.delete(connection, found.id)
        change_feed.record_names(connection)

    database.write(delete)


def replace_traits(
    database: Database, uuid: str, wanted: list[str], generation: int
) -> tuple[list[Trait], int]:
    """Give the provider exactly these traits; return them and the provider's generation.

    The generation is incremented only if the set of traits changes. Raises ProviderNotFound,
    GenerationConflict or UnknownTraits.
    """

    def replace(connection: Connection) -> tuple[list[Trait], int]:
        node = providers.lock_one(connection, uuid)
        if node.generation != generation:
            raise GenerationConflict(
                "Resource provider's generation already changed. "
                "Please update the generation and try again."
            )
        found = traits.named(connection, wanted)
        unknown = [name for name in dict.fromkeys(wanted) if name not in found]
        if unknown:
            raise UnknownTraits(names=", ".join(unknown))
        before = {trait.id for trait in traits.of_provider(connection, node.id)}
        after = {trait.id for trait in found.values()}
        if before != after:
            if before - after:
                traits.dissociate(connection, node.id, before - after)
            traits.associate(connection, node.id, sorted(after - before))
            providers.bump(connection, [node.id])
            change_feed.record(connection, [node.id], Kind.TRAITS)
        listed = sorted(found.values(), key=lambda trait: trait.name)
        return listed, node.generation + (before != after)

    return database.write(replace)


def delete_traits(database: Database, uuid: str) -> None:
    """Remove all traits from the provider. Raises ProviderNotFound."""

    def delete(connection: Connection) -> None:
        node = providers.lock_one(connection, uuid)
        if traits.dissociate(connection, node.id):
            providers.bump(connection, [node.id])
            change_feed.record(connection, [node.id], Kind.TRAITS)

    database.write(delete)
