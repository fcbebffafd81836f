"""GET /resource_providers as one query (rest-api.md 3.1).

Order of look-ups: in_tree, required, forbidden, member_of, resources. An unknown name is an error,
unless the look-ups before it leave no provider.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import sqlalchemy as sa

from placement.domain.capacity import MAX_AMOUNT
from placement.domain.provider_filter import ProviderFilter
from placement.errors import BadRequest, ResourceClassNotFound
from placement.storage import aggregates, provider_list, resource_classes, traits
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.list_parameters import among, parts
from placement.storage.driver.ratios import exact
from placement.storage.many_sets import in_all
from placement.storage.provider_list import CHANGED, ProviderList, newest
from placement.storage.providers import COLUMNS, FAMILY
from placement.storage.tables import (
    allocations,
    inventories,
    resource_provider_aggregates,
    resource_provider_traits,
)
from placement.storage.tables import resource_providers as providers

_ID = providers.c.id
_LISTED = sa.select(*COLUMNS[1:6], CHANGED).select_from(FAMILY)
Condition = sa.ColumnElement[bool]
#: How many sets, and amounts of classes, one statement joins. Of more, other statements find the
#: providers first, and this one gets their ids.
_MOST_JOINED = 8
#: parts of a filter of which the shape has the number
_COUNTED = {"required", "member_of", "resources"}


@dataclasses.dataclass(frozen=True)
class SearchShape:
    """The conditions of a search. Requests of the same shape differ only in the values."""

    in_tree: bool = False
    ids: bool = False
    required: int = 0
    forbidden: bool = False
    member_of: int = 0
    not_member_of: bool = False
    resources: int = 0
    name: bool = False
    uuid: bool = False
    uuids: bool = False


def find(database: Database, wanted: ProviderFilter) -> ProviderList:
    """Return the providers that pass the filter, with as few statements as that takes.

    Raises BadRequest for traits and resource classes that don't exist.
    """
    if wanted == ProviderFilter():
        return provider_list.all_of(database)
    if wanted.name is not None and wanted == ProviderFilter(name=wanted.name):
        return provider_list.named(database, wanted.name)
    if wanted.uuid is not None and wanted == ProviderFilter(uuid=wanted.uuid):
        return provider_list.with_uuid(database, wanted.uuid)
    return database.read(lambda connection: search(connection, wanted))


def search(connection: Connection, wanted: ProviderFilter) -> ProviderList:
    """Return the providers that pass the filter.

    Raises BadRequest for traits and resource classes that don't exist.
    """
    found = prepared(connection, wanted)
    if found is None:
        return ProviderList([], None)
    shape, values = found
    rows = connection.execute(_statement(shape), values).all()
    return ProviderList([row[:-1] for row in rows], newest([row.changed for row in rows]))


def prepared(
    connection: Connection, wanted: ProviderFilter
) -> tuple[SearchShape, dict[str, object]] | None:
    """Look up what the filter names; return shape and values of the search for providers.

    Returns None if no provider can pass. Raises BadRequest for traits and resource classes that
    don't exist.
    """
    values: dict[str, Any] = {}
    if wanted.in_tree is not None:
        values["root_id"] = _root_of(connection, wanted.in_tree)
        if values["root_id"] is None:
            return None
    if not _look_up_traits(connection, wanted, values):
        return None
    if not _look_up_aggregates(connection, wanted, values):
        return None
    if not _look_up_classes(connection, wanted, values):
        return None
    if wanted.name is not None:
        values["name"] = wanted.name
    if wanted.uuid is not None:
        values["uuid"] = wanted.uuid
    if wanted.uuids is not None:
        values["uuids"] = sorted(wanted.uuids)
    counted: dict[str, Any] = {
        part: len(value) for part, value in wanted.given.items() if part in _COUNTED
    }
    sets = _joined(connection, SearchShape(**counted), values)
    if sets.ids and not values["ids"]:
        return None
    # a part that the shape doesn't know is an error here
    others = dict.fromkeys(wanted.given.keys() - _COUNTED, True)
    if "not_member_of" not in values:
        others.pop("not_member_of", None)
    return dataclasses.replace(sets, **others), values


def _joined(connection: Connection, sets: SearchShape, values: dict[str, Any]) -> SearchShape:
    """Return the shape of a search for the sets and amounts.

    If one statement can't join so many, look up the ids of the providers that pass, add them to
    `values`, and return the shape of a search for these ids.
    """
    if sets.required + sets.member_of + sets.resources <= _MOST_JOINED:
        return sets
    found = [
        in_all(connection, kind, [values[f"{kind}_{number}"] for number in range(count)])
        for kind, count in (("traits", sets.required), ("aggregates", sets.member_of))
    ]
    named = [each for each in found if each is not None]
    left = set.intersection(*named) if named else None
    for numbers in parts(range(sets.resources), _MOST_JOINED):
        left = _able(connection, numbers, values, left)
    values["ids"] = sorted(left or ())
    return SearchShape(ids=True)


def _able(
    connection: Connection,
    numbers: Sequence[int],
    values: Mapping[str, object],
    left: set[int] | None,
) -> set[int]:
    """Return the ids of the providers that have room for some of the amounts.

    :param left: the ids to choose from; None: all providers
    """
    given = {
        f"{what}_{place}": values[f"{what}_{number}"]
        for place, number in enumerate(numbers)
        for what in ("class", "amount")
    }
    shape = SearchShape(ids=left is not None, resources=len(numbers))
    question = sa.select(_ID).where(*conditions(shape))
    return set(connection.execute(question, given | {"ids": sorted(left or ())}).scalars())


def _root_of(connection: Connection, uuid: str) -> int | None:
    question = sa.select(providers.c.root_provider_id).where(providers.c.uuid == uuid)
    return connection.execute(question).scalar_one_or_none()


def _look_up_traits(connection: Connection, wanted: ProviderFilter, values: dict[str, Any]) -> bool:
    """Add the ids of the traits; return False if no provider can pass."""
    required = frozenset().union(*wanted.required)
    if not required and not wanted.forbidden:
        return True
    found = traits.named(connection, required | wanted.forbidden)
    for names in wanted.required:
        _refuse_unknown(names - found.keys())
    for number, names in enumerate(wanted.required):
        values[f"traits_{number}"] = [found[name].id for name in names]
    unknown = wanted.forbidden - found.keys()
    if unknown:
        asked = SearchShape(required=len(wanted.required))
        if asked.required and not _anything(connection, asked, values):
            return False
        _refuse_unknown(unknown)
    if wanted.forbidden:
        values["forbidden"] = [found[name].id for name in wanted.forbidden]
    return True


def _refuse_unknown(names: AbstractSet[str]) -> None:
    """Raise BadRequest with one of the names, like the reference, which takes any of them."""
    if names:
        raise BadRequest(
            f'Invalid trait(s) in "required" parameter: No such trait(s): {min(names)}.'
        )


def _look_up_aggregates(
    connection: Connection, wanted: ProviderFilter, values: dict[str, Any]
) -> bool:
    """Add the ids of the aggregates; return False if no provider can pass."""
    ids = aggregates.ids_of(connection, wanted.not_member_of.union(*wanted.member_of))
    for number, uuids in enumerate(wanted.member_of):
        members = values[f"aggregates_{number}"] = [ids[uuid] for uuid in uuids if uuid in ids]
        if not members:
            return False
    forbidden = [ids[uuid] for uuid in wanted.not_member_of if uuid in ids]
    if forbidden:
        values["not_member_of"] = forbidden
    return True


def _look_up_classes(
    connection: Connection, wanted: ProviderFilter, values: dict[str, Any]
) -> bool:
    """Add classes and amounts; return False if no provider can pass."""
    try:
        ids = resource_classes.ids_of(connection, wanted.resources)
    except ResourceClassNotFound as unknown:
        for asked in (
            SearchShape(required=len(wanted.required)),
            SearchShape(member_of=len(wanted.member_of)),
        ):
            if asked != SearchShape() and not _anything(connection, asked, values):
                return False
        text = f"Invalid resource class in resources parameter: {unknown.message}"
        raise BadRequest(text) from unknown
    for number, (name, amount) in enumerate(wanted.resources.items()):
        if amount > MAX_AMOUNT:
            # no max_unit is that large, and some databases can't compare with such a number
            return False
        values[f"class_{number}"] = ids[name]
        values[f"amount_{number}"] = amount
    return True


def _anything(connection: Connection, sets: SearchShape, values: dict[str, Any]) -> bool:
    shape = _joined(connection, sets, values)
    return connection.execute(_statement(shape).limit(1), values).first() is not None


@functools.lru_cache(maxsize=256)
def _statement(shape: SearchShape) -> sa.Select:
    """Make the query of a shape; its values are parameters."""
    return _LISTED.where(*conditions(shape)).order_by(_ID)


def conditions(shape: SearchShape) -> list[Condition]:
    """Return the conditions on the table of providers; their values are parameters."""
    chosen: list[Condition] = []
    if shape.in_tree:
        chosen.append(providers.c.root_provider_id == sa.bindparam("root_id"))
    if shape.ids:
        chosen.append(among(_ID, "ids"))
    # aggregates first: they usually have fewer providers than a trait has
    sets = [(_MEMBERS, f"aggregates_{number}") for number in range(shape.member_of)]
    sets += [(_HAVING_TRAIT, f"traits_{number}") for number in range(shape.required)]
    if sets:
        chosen.append(_in_all_of(sets))
    if shape.forbidden:
        chosen.append(~_in_all_of([(_HAVING_TRAIT, "forbidden")]))
    if shape.not_member_of:
        chosen.append(~_in_all_of([(_MEMBERS, "not_member_of")]))
    chosen += [_can_give(number) for number in range(shape.resources)]
    if shape.name:
        chosen.append(providers.c.name == sa.bindparam("name"))
    if shape.uuid:
        chosen.append(providers.c.uuid == sa.bindparam("uuid"))
    if shape.uuids:
        chosen.append(among(providers.c.uuid, "uuids"))
    return chosen


#: the table that says which providers are in which set, and its column for the set
_MEMBERS = (resource_provider_aggregates, "aggregate_id")
_HAVING_TRAIT = (resource_provider_traits, "trait_id")


def _in_all_of(sets: list[tuple[tuple[sa.Table, str], str]]) -> Condition:
    """Return the condition that the provider is in at least one set of each parameter.

    The sets are joined using indexes alone. A row of the provider table is read only for providers
    that pass.
    """
    (first, parameter), *others = sets
    provider_id, chosen = _rows_of(first, parameter)
    question = sa.select(provider_id).where(chosen)
    for table, name in others:
        other_id, also = _rows_of(table, name)
        question = question.where(
            sa.exists().where(other_id == provider_id, also).correlate(provider_id.table)
        )
    return _ID.in_(question)


def _rows_of(table: tuple[sa.Table, str], parameter: str) -> tuple[sa.Column, Condition]:
    rows = table[0].alias()
    return rows.c.resource_provider_id, rows.c[table[1]].in_(
        sa.bindparam(parameter, expanding=True)
    )


def _can_give(number: int) -> Condition:
    """Return the condition that an amount of a class fits into the provider's inventory.

    This is the rule of `placement.domain.capacity.why_not` in SQL.
    """
    class_id = sa.bindparam(f"class_{number}", type_=sa.Integer)
    amount = sa.bindparam(f"amount_{number}", type_=sa.Integer)
    used = (
        sa.select(sa.func.coalesce(sa.func.sum(allocations.c.used), 0))
        .where(allocations.c.resource_provider_id == _ID)
        .where(allocations.c.resource_class_id == class_id)
        .correlate(providers)
        .scalar_subquery()
    )
    ratio = exact(inventories.c.allocation_ratio)
    capacity = (inventories.c.total - inventories.c.reserved) * ratio
    return (
        sa.exists()
        .where(inventories.c.resource_provider_id == _ID)
        .where(inventories.c.resource_class_id == class_id)
        .where(inventories.c.min_unit <= amount, inventories.c.max_unit >= amount)
        .where(amount % inventories.c.step_size == 0)
        .where(used + amount <= capacity)
    )
