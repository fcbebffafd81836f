"""/berth/v1/provider_trees/{root_uuid} (extensions.md 3)."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from placement.domain import uuids
from placement.domain.provider import UNCHANGED
from placement.errors import (
    AllocationRefused,
    BadRequest,
    InventoryInUse,
    LostRace,
    ProviderNotFound,
    ResourceClassNotFound,
    worded,
)
from placement.extensions.provider_tree_changes import schema as schemas
from placement.extensions.provider_tree_changes.operation import change_tree
from placement.extensions.provider_tree_changes.rules import TreeChange, WantedProvider
from placement.handlers.allocations import requests_from
from placement.handlers.inventories import CAPACITY_REFUSED, CLASS_UNKNOWN, stock_from
from placement.handlers.resource_providers import CHANGE_REFUSED, CREATION_REFUSED
from placement.http.call import NOW, Answer, Call
from placement.schemas.json_schema import Json

T = TypeVar("T")


@worded(
    CREATION_REFUSED,
    CHANGE_REFUSED,
    CAPACITY_REFUSED,
    (AllocationRefused, AllocationRefused, "Unable to allocate inventory: {error}"),
    (InventoryInUse, InventoryInUse, "update conflict: {error}"),
    (LostRace, LostRace, "update conflict: {error}"),
)
def change(call: Call, root_uuid: str) -> Answer:
    """PUT /berth/v1/provider_trees/{root_uuid}"""
    call.authorize("berth:provider_trees:update")
    body = call.read(schemas.CHANGE)
    if not uuids.is_uuid_like(root_uuid):
        raise ProviderNotFound(uuid=root_uuid)
    wanted = TreeChange(
        root=uuids.normalised(root_uuid),
        providers=_by_provider(body.get("providers", {}), _wanted),
        remove=_by_provider(body.get("remove", {}), int),
        requests=requests_from(call, body.get("allocations", {})),
        create_names=body.get("create_names", False),
    )
    try:
        generations = change_tree(
            call.database,
            wanted,
            may_be_full=call.at_least(26),
            may_reparent=call.at_least(37),
            tries=call.tries,
        )
    except ResourceClassNotFound as unknown:
        raise _unknown_class(unknown, wanted) from unknown
    return call.reply({"generations": generations}, modified=NOW)


def _by_provider(given: Mapping[str, Any], read: Callable[[Any], T]) -> dict[str, T]:
    """Return what is given for each provider, by normalised uuid.

    Raises BadRequest if a uuid is given twice.
    """
    found: dict[str, T] = {}
    for key, value in given.items():
        uuid = uuids.normalised(key)
        if uuid in found:
            raise BadRequest(f"Resource provider {uuid} is named twice.")
        found[uuid] = read(value)
    return found


def _wanted(given: Json) -> WantedProvider:
    parent = given.get("parent_provider_uuid", UNCHANGED)
    return WantedProvider(
        generation=given["generation"],
        name=given.get("name"),
        parent=uuids.normalised(parent) if isinstance(parent, str) else parent,
        inventories=stock_from(given["inventories"]) if "inventories" in given else None,
        traits=given.get("traits"),
        aggregates=given.get("aggregates"),
    )


def _unknown_class(unknown: ResourceClassNotFound, wanted: TreeChange) -> BadRequest:
    """Return the error that says where the unknown class is: in an inventory or an allocation."""
    name = unknown.facts["name"]
    for uuid, provider in wanted.providers.items():
        if name in (provider.inventories or ()):
            return BadRequest(CLASS_UNKNOWN.format(uuid=uuid, error=unknown.message))
    return BadRequest(f"Unable to allocate inventory {unknown.message}")
