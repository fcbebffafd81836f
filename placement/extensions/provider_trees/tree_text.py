"""Writes trees of providers, and what consumers hold, as JSON (extensions.md 2).

The values are those of the single requests at 1.39. The texts are written one provider or consumer
at a time: an answer may have a hundred thousand providers.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import orjson

from placement.domain.consumer import UNKNOWN_TYPE
from placement.domain.tree import subtree
from placement.extensions.provider_trees import rows as provider_trees
from placement.extensions.provider_trees.rows import TreePlace
from placement.schemas.json_schema import Json
from placement.storage.database.engine import Connection
from placement.storage.holdings import HeldRow

_HEAD = b'{"uuid":%b,"name":%b,"generation":%d,"parent_provider_uuid":%b,"root_provider_uuid":%b'
#: rows of the database; their columns depend on the statement
Rows = Iterable[Sequence[Any]]


def trees(
    connection: Connection, root_ids: Sequence[int], fields: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the uuid of each root, and its tree as JSON, in the order of the roots.

    :param fields: what to show of each provider: keys of FIELDS
    """
    families: dict[int, list[TreePlace]] = {}
    for place in provider_trees.places(connection, root_ids):
        families.setdefault(place.root_id, []).append(place)
    shown = [_texts(connection, root_ids, name) for name in fields]
    for root_id in root_ids:
        family = _parents_first(root_id, families.pop(root_id))
        uuids = {place.id: orjson.dumps(place.uuid) for place in family}
        root = uuids[root_id]
        providers = [
            _HEAD
            % (
                uuids[place.id],
                orjson.dumps(place.name),
                place.generation or 0,
                b"null" if place.parent_id is None else uuids.get(place.parent_id, b"null"),
                root,
            )
            + b"".join(write(place.id) for write in shown)
            + b"}"
            for place in family
        ]
        yield family[0].uuid, b'{"root":%b,"providers":[%b]}' % (root, b",".join(providers))


def _parents_first(root_id: int, family: list[TreePlace]) -> list[TreePlace]:
    if len(family) == 1:
        return family
    by_id = {place.id: place for place in family}
    ordered = dict.fromkeys(subtree(family, root_id))
    # a provider whose parent is missing is shown, too: operators must see it to repair it
    return [by_id[key] for key in (ordered | dict.fromkeys(by_id))]


def _texts(connection: Connection, root_ids: Sequence[int], field: str) -> Callable[[int], bytes]:
    """Return a function that writes a field of a provider, given by database id."""
    read, value = FIELDS[field]
    key = b',"%b":' % field.encode()
    nothing = key + orjson.dumps(value([]))
    rows = read(connection, root_ids)
    found = {
        provider_id: key + orjson.dumps(value(group))
        for provider_id, group in itertools.groupby(rows, itemgetter(0))
    }
    return lambda provider_id: found.pop(provider_id, nothing)


def _inventories(rows: Rows) -> Json:
    return {
        name: {
            "total": total,
            "reserved": reserved,
            "min_unit": min_unit,
            "max_unit": max_unit,
            "step_size": step_size,
            "allocation_ratio": allocation_ratio,
        }
        for (
            _,
            name,
            total,
            reserved,
            min_unit,
            max_unit,
            step_size,
            allocation_ratio,
        ) in rows
    }


def _names(rows: Rows) -> list[str]:
    return [name for _, name in rows]


def _usages(rows: Rows) -> dict[str, int]:
    return {name: int(used) for _, name, used in rows}


def _holders(rows: Rows) -> Json:
    """Return what consumers hold of a provider, in the form of the provider's allocations.

    :param rows: (anything, consumer, consumer generation, class, amount)
    """
    shown: Json = {}
    for _, consumer, generation, name, used in rows:
        held = shown.get(consumer)
        if held is None:
            held = shown[consumer] = {"resources": {}, "consumer_generation": generation}
        held["resources"][name] = used
    return shown


#: field → what reads the rows of some trees, and what makes a provider's value of its rows
FIELDS: Mapping[
    str, tuple[Callable[[Connection, Sequence[int]], Rows], Callable[[Rows], object]]
] = {
    "inventories": (provider_trees.inventory_values, _inventories),
    "traits": (provider_trees.trait_names, _names),
    "aggregates": (provider_trees.aggregate_uuids, _names),
    "usages": (provider_trees.usages, _usages),
    "allocations": (provider_trees.held, _holders),
}


def consumers(
    found: Iterable[HeldRow], is_wanted: Callable[[list[HeldRow]], bool] = lambda held: True
) -> Iterator[bytes]:
    """Yield `"<consumer>": {…}` for each consumer that is wanted.

    :param found: all that the consumers hold; the rows of one consumer follow each other
    :param is_wanted: called with all that one consumer holds
    """
    for _, group in itertools.groupby(found, attrgetter("consumer")):
        held = list(group)
        if is_wanted(held):
            yield _consumer(held)


def _consumer(held: list[HeldRow]) -> bytes:
    shown: Json = {}
    for holding in held:
        entry = shown.get(holding.provider_uuid)
        if entry is None:
            entry = shown[holding.provider_uuid] = {
                "resources": {},
                "generation": holding.provider_generation,
            }
        entry["resources"][holding.resource_class] = holding.used
    owner = held[0]
    body = {
        "allocations": shown,
        "project_id": owner.project,
        "user_id": owner.user,
        "consumer_generation": owner.generation,
        "consumer_type": owner.type_name or UNKNOWN_TYPE,
    }
    return orjson.dumps(owner.consumer) + b":" + orjson.dumps(body)


def providers(found: Rows) -> Iterator[bytes]:
    """Yield `"<provider>": {…}` for each provider, with all that is held of it.

    :param found: what `holdings.of_providers` yields
    """
    for uuid, group in itertools.groupby(found, itemgetter(0)):
        rows = list(group)
        held = [(row[0], *row[2:]) for row in rows if row[2] is not None]
        body = {"allocations": _holders(held), "resource_provider_generation": rows[0][1] or 0}
        yield orjson.dumps(uuid) + b":" + orjson.dumps(body)


def joined(opening: bytes, items: Iterable[bytes], closing: bytes) -> Iterator[bytes]:
    """Yield a JSON list or object in pieces."""
    yield opening
    separator = b""
    for item in items:
        yield separator + item
        separator = b","
    yield closing
