"""Create and delete traits, and set the traits of providers (rest-api.md 3.5, 3.12)."""

from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any

from placement.domain.names import is_custom
from placement.errors import (
    GenerationConflict,
    StandardNameFixed,
    TraitInUse,
    TraitNotFound,
    UnknownTraits,
)
from placement.storage import providers, traits
from placement.storage.at_once import content
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed, feed_lanes
from placement.storage.feed.change_feed import ChangeKind
from placement.storage.traits import Trait


def ensure_trait(database: Database, name: str) -> tuple[Trait, bool]:
    """Create the trait if it is missing; return the trait, and whether it was missing."""

    def ensure(connection: Connection) -> tuple[Trait, bool]:
        found, missing = create_missing(connection, [name])
        if missing:
            change_feed.record_names(connection)
        return found[name], bool(missing)

    return database.write(ensure)


def create_missing(
    connection: Connection, names: Collection[str]
) -> tuple[dict[str, Trait], set[str]]:
    """Create those of the traits that are missing. The caller appends to the change feed.

    Return all of the traits, and the names of those that were missing.
    """
    found = traits.named(connection, names)
    missing = set(names) - found.keys()
    if missing:
        traits.insert(connection, missing)
        found = traits.named(connection, names)
    return found, missing


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

    def replace(connection: Connection) -> tuple[Iterable[Any], bool | None]:
        if content.suit(connection, wanted, generation):
            return content.write_traits(connection, uuid, generation, wanted), None
        feed_lanes.ask_along(connection)
        connection.is_repeatable = True
        node, (held, *named) = providers.lock_one_and_ask(
            connection, uuid, traits.ids_question(uuid), *traits.named_questions(wanted)
        )
        if node.generation != generation:
            raise GenerationConflict(
                "Resource provider's generation already changed. "
                "Please update the generation and try again."
            )
        rows = [row for part in named for row in part]
        found = traits.named_in(rows)
        refuse_unknown(wanted, found)
        after = {trait.id for trait in found.values()}
        changed = give(connection, {node.id: after}, {node.id: set(held.scalars())})
        if changed:
            providers.bump(connection, [node.id])
            change_feed.record(connection, [node.id], ChangeKind.TRAITS)
        return rows, bool(changed)

    rows, changed = database.write(replace)
    if changed is None:
        # known only now that the message was answered, which has the lane in each row
        changed = next(iter(rows))[-1] is not None
        rows = [row[:-1] for row in rows]
    found = traits.named_in(rows)
    return sorted(found.values(), key=lambda trait: trait.name), int(generation) + changed


def refuse_unknown(wanted: Iterable[str], known: Container[str]) -> None:
    """Raise UnknownTraits for the wanted names that aren't known."""
    unknown = [name for name in dict.fromkeys(wanted) if name not in known]
    if unknown:
        raise UnknownTraits(names=", ".join(unknown))


def give(
    connection: Connection, wanted: Mapping[int, set[int]], held: Mapping[int, set[int]]
) -> set[int]:
    """Give providers exactly these traits, all by id; return the ids of those that change.

    The caller raises the generations and appends to the change feed.

    :param held: the traits that these providers have
    """
    if not wanted:
        return set()
    losing = {provider_id: held[provider_id] - after for provider_id, after in wanted.items()}
    lost = set().union(*losing.values())
    # One statement takes every trait that any provider loses from all providers that lose any. For
    # example, p1 loses A and p2 loses B: both are then without A and B. So p1 gets its B back if it
    # had one, and p2 its A.
    back = {
        provider_id: held[provider_id] & lost if losing[provider_id] else set()
        for provider_id in wanted
    }
    if lost:
        traits.dissociate(connection, [p for p, traits_lost in losing.items() if traits_lost], lost)
    traits.associate(
        connection,
        [
            (provider_id, trait_id)
            for provider_id, after in wanted.items()
            for trait_id in sorted(after - (held[provider_id] - back[provider_id]))
        ],
    )
    return {provider_id for provider_id, after in wanted.items() if held[provider_id] != after}


def delete_traits(database: Database, uuid: str) -> None:
    """Remove all traits from the provider. Raises ProviderNotFound."""

    def delete(connection: Connection) -> None:
        node = providers.lock_one(connection, uuid)
        if traits.dissociate_all(connection, [node.id]):
            providers.bump(connection, [node.id])
            change_feed.record(connection, [node.id], ChangeKind.TRAITS)

    database.write(delete)
