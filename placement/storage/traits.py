"""Rows of traits, and the traits of providers."""

import dataclasses
import datetime
from collections.abc import Collection, Iterable
from typing import Any

import os_traits
import sqlalchemy as sa

from placement.domain.names import CUSTOM_PREFIX
from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Question
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.list_parameters import among, parts
from placement.storage.of_provider import OfProvider
from placement.storage.tables import resource_provider_traits as associations
from placement.storage.tables import resource_providers as providers
from placement.storage.tables import traits, utcnow

#: what a `Trait` is made of
COLUMNS = (
    traits.c.id,
    traits.c.name,
    sa.func.coalesce(traits.c.updated_at, traits.c.created_at),
)
_BY_NAME = Compiled(sa.select(*COLUMNS).where(among(traits.c.name, "names")))
_OF_PROVIDER = OfProvider(
    associations.join(traits, associations.c.trait_id == traits.c.id),
    associations.c.resource_provider_id,
    COLUMNS,
    order=(traits.c.id,),
)
_IDS_OF_PROVIDERS = Compiled(
    sa.select(associations.c.resource_provider_id, associations.c.trait_id).where(
        among(associations.c.resource_provider_id, "providers")
    )
)
_IDS_OF = Compiled(
    sa.select(associations.c.trait_id)
    .join(providers, associations.c.resource_provider_id == providers.c.id)
    .where(providers.c.uuid == sa.bindparam("uuid"))
)
_OF_PROVIDERS = sa.delete(associations).where(
    among(associations.c.resource_provider_id, "providers")
)
_DISSOCIATE_ALL = Compiled(_OF_PROVIDERS)
_DISSOCIATE = Compiled(_OF_PROVIDERS.where(among(associations.c.trait_id, "traits")))
_ASSOCIATE = Compiled(sa.insert(associations))


@dataclasses.dataclass(frozen=True, slots=True)
class Trait:
    """A trait with its row time."""

    id: int
    name: str
    modified: datetime.datetime | None


@dataclasses.dataclass(frozen=True, slots=True)
class TraitFilter:
    """The conditions of a list of traits; None: no condition."""

    names: tuple[str, ...] | None = None
    prefix: str | None = None
    associated: bool | None = None


def named(connection: Connection, names: Iterable[str]) -> dict[str, Trait]:
    """Return the traits of these names that exist, by name."""
    found: dict[str, Trait] = {}
    for question in named_questions(names):
        found |= named_in(connection.execute(*question))
    return found


def named_questions(names: Iterable[str]) -> list[Question]:
    """Return the questions for the traits of these names."""
    return [(_BY_NAME, {"names": part}) for part in parts(names)]


def named_in(rows: Iterable[tuple[Any, ...]]) -> dict[str, Trait]:
    """Return the answer to one of `named_questions`, by name."""
    return {trait.name: trait for trait in (Trait(*row) for row in rows)}


def of_provider(database: Database, uuid: str) -> tuple[int, list[Trait]]:
    """Return the provider's generation and traits. Raises ProviderNotFound."""
    generation, rows = _OF_PROVIDER.ask(database, uuid)
    return generation, [Trait(*row) for row in rows]


def ids_of_providers(connection: Connection, provider_ids: Collection[int]) -> dict[int, set[int]]:
    """Return the ids of each provider's traits, by provider id."""
    found: dict[int, set[int]] = {provider_id: set() for provider_id in provider_ids}
    if not provider_ids:
        return found
    rows = connection.execute(_IDS_OF_PROVIDERS, {"providers": list(provider_ids)})
    for provider_id, trait_id in rows:
        found[provider_id].add(trait_id)
    return found


def ids_question(uuid: str) -> Question:
    """Return the question for the ids of a provider's traits: the answer's only column."""
    return _IDS_OF, {"uuid": uuid}


def listed(connection: Connection, wanted: TraitFilter) -> list[Trait]:
    """Return the traits that pass the filter (rest-api.md 3.12).

    `prefix` may have LIKE's wildcards.
    """
    question = sa.select(*COLUMNS).order_by(traits.c.id)
    if wanted.names is not None:
        question = question.where(traits.c.name.in_(wanted.names))
    if wanted.prefix is not None:
        question = question.where(traits.c.name.like(wanted.prefix + "%"))
    if wanted.associated is not None:
        used = sa.exists().where(associations.c.trait_id == traits.c.id)
        question = question.where(used if wanted.associated else ~used)
    return [Trait(*row) for row in connection.execute(question)]


def in_use(connection: Connection, trait_id: int) -> bool:
    """Return whether any provider has the trait."""
    question = sa.select(sa.literal(1)).where(associations.c.trait_id == trait_id)
    return connection.execute(question.limit(1)).first() is not None


def insert(connection: Connection, names: Collection[str]) -> None:
    """Store traits; in order, so that writers of the same names can't deadlock."""
    if names:
        connection.execute(sa.insert(traits), [{"name": name} for name in sorted(names)])


def delete(connection: Connection, trait_id: int) -> None:
    """Delete a trait that no provider has."""
    connection.execute(sa.delete(traits).where(traits.c.id == trait_id))


def associate(connection: Connection, pairs: Collection[tuple[int, int]]) -> None:
    """Add traits to providers, given as (provider id, trait id)."""
    if pairs:
        rows = [{"resource_provider_id": provider, "trait_id": trait} for provider, trait in pairs]
        connection.later(_ASSOCIATE, rows)


def dissociate(
    connection: Connection, provider_ids: Collection[int], trait_ids: Collection[int]
) -> None:
    """Remove these traits from each provider."""
    values = {"providers": list(provider_ids), "traits": list(trait_ids)}
    connection.later(_DISSOCIATE, values)


def dissociate_all(connection: Connection, provider_ids: Collection[int]) -> int:
    """Remove all traits from each provider; return how many they had in all."""
    return connection.execute(_DISSOCIATE_ALL, {"providers": list(provider_ids)}).rowcount


def sync(connection: Connection) -> bool:
    """Store the missing standard traits; return whether there were any."""
    standard = traits.c.name.notlike(f"{CUSTOM_PREFIX.replace('_', '^_')}%", escape="^")
    there = set(connection.execute(sa.select(traits.c.name).where(standard)).scalars())
    missing = [name for name in os_traits.get_traits() if name not in there]
    if missing:
        rows = [{"name": name, "created_at": utcnow()} for name in missing]
        connection.execute(sa.insert(traits), rows)
    return bool(missing)
