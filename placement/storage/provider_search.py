"""GET /resource_providers as one question (rest-api.md 3.1).

Order of look-ups: in_tree, required, forbidden, member_of, resources; once nothing is left, later
names that don't exist aren't reported any more.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from placement.domain.capacity import MAX_INT
from placement.domain.provider import Provider
from placement.domain.provider_filter import ProviderFilter
from placement.errors import BadRequest, ResourceClassNotFound
from placement.storage import aggregates, resource_classes, traits
from placement.storage.engine import Connection
from placement.storage.providers import SELECT
from placement.storage.tables import (
    allocations,
    inventories,
    resource_provider_aggregates,
    resource_provider_traits,
)
from placement.storage.tables import resource_providers as providers

_ID = providers.c.id
Condition = sa.ColumnElement[bool]


def search(connection: Connection, wanted: ProviderFilter) -> list[Provider]:
    """The providers that pass the filter, by id.

    Raises BadRequest for traits and resource classes that don't exist.
    """
    conditions: list[Condition] = []
    if wanted.in_tree is not None:
        root_id = _root_of(connection, wanted.in_tree)
        if root_id is None:
            return []
        conditions.append(providers.c.root_provider_id == root_id)
    if not _add_traits(connection, wanted, conditions):
        return []
    if not _add_aggregates(connection, wanted, conditions):
        return []
    if wanted.resources:
        try:
            ids = resource_classes.ids_of(connection, wanted.resources)
        except ResourceClassNotFound as unknown:
            text = f"Invalid resource class in resources parameter: {unknown.message}"
            raise BadRequest(text) from unknown
        conditions += [_can_give(ids[name], amount) for name, amount in wanted.resources.items()]
    if wanted.name is not None:
        conditions.append(providers.c.name == wanted.name)
    if wanted.uuid is not None:
        conditions.append(providers.c.uuid == wanted.uuid)
    rows = connection.execute(SELECT.where(*conditions).order_by(_ID))
    return [Provider(*row) for row in rows]


def _root_of(connection: Connection, uuid: str) -> int | None:
    question = sa.select(providers.c.root_provider_id).where(providers.c.uuid == uuid)
    return connection.execute(question).scalar_one_or_none()


def _add_traits(
    connection: Connection, wanted: ProviderFilter, conditions: list[Condition]
) -> bool:
    """Add what the traits ask; False when nothing can pass any more."""
    required_ids = _trait_ids(connection, frozenset().union(*wanted.required))
    asked = [_has_trait(required_ids[name] for name in names) for names in wanted.required]
    forbidden_first = bool(asked) and bool(wanted.forbidden)
    if forbidden_first and not _anything(connection, asked):
        return False
    forbidden_ids = _trait_ids(connection, wanted.forbidden)
    conditions += asked
    if forbidden_ids:
        conditions.append(~_has_trait(forbidden_ids.values()))
    return not (asked and wanted.resources) or _anything(connection, asked)


def _trait_ids(connection: Connection, names: frozenset[str]) -> dict[str, int]:
    found = traits.named(connection, names)
    unknown = sorted(names - found.keys())
    if unknown:
        raise BadRequest(
            f'Invalid trait(s) in "required" parameter: No such trait(s): {", ".join(unknown)}.'
        )
    return {name: trait.id for name, trait in found.items()}


def _add_aggregates(
    connection: Connection, wanted: ProviderFilter, conditions: list[Condition]
) -> bool:
    """Add what the aggregates ask; False when nothing can pass any more."""
    ids = aggregates.ids_of(connection, frozenset(wanted.not_member_of).union(*wanted.member_of))
    asked = [_is_member(ids[uuid] for uuid in uuids if uuid in ids) for uuids in wanted.member_of]
    if asked and not _anything(connection, asked):
        return False
    conditions += asked
    forbidden = [ids[uuid] for uuid in wanted.not_member_of if uuid in ids]
    if forbidden:
        conditions.append(~_is_member(forbidden))
    return True


def _anything(connection: Connection, conditions: list[Condition]) -> bool:
    return connection.execute(sa.select(_ID).where(*conditions).limit(1)).first() is not None


def _has_trait(ids: Iterable[int]) -> Condition:
    return (
        sa.exists()
        .where(resource_provider_traits.c.resource_provider_id == _ID)
        .where(resource_provider_traits.c.trait_id.in_(list(ids)))
    )


def _is_member(ids: Iterable[int]) -> Condition:
    return (
        sa.exists()
        .where(resource_provider_aggregates.c.resource_provider_id == _ID)
        .where(resource_provider_aggregates.c.aggregate_id.in_(list(ids)))
    )


def _can_give(class_id: int, amount: int) -> Condition:
    """Whether the provider has inventory of the class with room for the amount."""
    if amount > MAX_INT:
        # no max_unit is that large, and not every database can compare with it
        return sa.false()
    used = (
        sa.select(sa.func.coalesce(sa.func.sum(allocations.c.used), 0))
        .where(allocations.c.resource_provider_id == _ID)
        .where(allocations.c.resource_class_id == class_id)
        .correlate(providers)
        .scalar_subquery()
    )
    capacity = (inventories.c.total - inventories.c.reserved) * inventories.c.allocation_ratio
    return (
        sa.exists()
        .where(inventories.c.resource_provider_id == _ID)
        .where(inventories.c.resource_class_id == class_id)
        .where(inventories.c.min_unit <= amount, inventories.c.max_unit >= amount)
        .where(sa.literal(amount) % inventories.c.step_size == 0)
        .where(used + amount <= capacity)
    )
