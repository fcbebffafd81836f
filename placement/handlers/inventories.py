"""Inventories of a provider (rest-api.md 3.3)."""

import re
from collections.abc import Mapping
from typing import Any

from placement.domain.capacity import Inventory
from placement.errors import (
    BadRequest,
    ConcurrentUpdate,
    GenerationConflict,
    InvalidCapacity,
    InventoryInUse,
    InventoryMissing,
    InventoryNotFound,
    LostRace,
    NotFound,
    ProviderNotFound,
    ResourceClassNotFound,
    worded,
)
from placement.handlers.provider_requests import body_for
from placement.http.call import NOW, Answer, Call, newest
from placement.operations import inventories as operations
from placement.schemas import inventories as schemas
from placement.schemas.json_schema import RESOURCE_CLASS_KEY
from placement.storage import inventories

_CLASS_NAME = re.compile(RESOURCE_CLASS_KEY)
FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
_PROVIDER_GONE = (
    ProviderNotFound,
    NotFound,
    "No resource provider with uuid {uuid} found : {error}",
)

CLASS_UNKNOWN = "Unknown resource class in inventory for resource provider {uuid}: {error}"
CAPACITY_REFUSED = (
    InvalidCapacity,
    BadRequest,
    "Unable to update inventory for resource provider {uuid}: {error}",
)


def inventory_from(record: Mapping[str, Any]) -> Inventory:
    """Return the inventory that a record describes, with defaults for missing fields."""
    return Inventory(**{name: record[name] for name in FIELDS if name in record})


def stock_from(records: Mapping[str, Any]) -> dict[str, Inventory]:
    """Return inventories by class name, from records by class name.

    The schema validates a record only if its key is a possible class name. An invalid record under
    an impossible name becomes a valid dummy inventory here. The operation rejects the name later,
    as an unknown class, after it has checked the generation.
    """
    return {
        name: inventory_from(record) if _is_usable(name, record) else Inventory(total=1)
        for name, record in records.items()
    }


def _is_usable(class_name: str, record: object) -> bool:
    return (
        _CLASS_NAME.search(class_name) is not None or schemas.RECORD_ALONE.why_not(record) is None
    )


def record_of(inventory: Inventory) -> dict[str, object]:
    """Return an inventory as bodies show it."""
    return {name: getattr(inventory, name) for name in FIELDS}


def stock_body(stock: Mapping[str, Inventory], generation: int) -> dict[str, object]:
    """Return the body with all inventories of a provider."""
    return {
        "resource_provider_generation": generation,
        "inventories": {name: record_of(inventory) for name, inventory in stock.items()},
    }


@worded(_PROVIDER_GONE)
def list_all(call: Call, uuid: str) -> Answer:
    """GET /resource_providers/{uuid}/inventories"""
    call.authorize("placement:resource_providers:inventories:list")
    generation, stock = inventories.of_provider(call.database, uuid)
    modified = newest(inventory.modified for inventory in stock.values()) if stock else None
    return call.reply(stock_body(stock, generation), modified=modified, cached=True)


@worded(
    (
        ResourceClassNotFound,
        BadRequest,
        "Unable to create inventory for resource provider {uuid}: {error}",
    ),
    (
        InvalidCapacity,
        BadRequest,
        "Unable to create inventory for resource provider {uuid}: {error}",
    ),
    (ConcurrentUpdate, ConcurrentUpdate, "Update conflict: {error}"),
)
def create(call: Call, uuid: str) -> Answer:
    """POST /resource_providers/{uuid}/inventories"""
    call.authorize("placement:resource_providers:inventories:create")
    wanted = body_for(call, uuid, schemas.CREATE)
    name, inventory = wanted["resource_class"], inventory_from(wanted)
    generation = operations.create_inventory(
        call.database, uuid, name, inventory, call.at_least(26)
    )
    return call.reply(
        record_of(inventory) | {"resource_provider_generation": generation},
        status=201,
        modified=NOW,
        location=f"/resource_providers/{uuid}/inventories/{name}",
    )


@worded(
    (ResourceClassNotFound, BadRequest, CLASS_UNKNOWN),
    CAPACITY_REFUSED,
    (GenerationConflict, GenerationConflict, "{error}"),
    (InventoryInUse, InventoryInUse, "update conflict: {error}"),
    (ConcurrentUpdate, ConcurrentUpdate, "update conflict: {error}"),
)
def replace(call: Call, uuid: str) -> Answer:
    """PUT /resource_providers/{uuid}/inventories"""
    call.authorize("placement:resource_providers:inventories:update")
    wanted = body_for(call, uuid, schemas.REPLACE)
    stock = stock_from(wanted["inventories"])
    generation = operations.replace_inventories(
        call.database, uuid, wanted["resource_provider_generation"], stock, call.at_least(26)
    )
    return call.reply(stock_body(stock, generation), modified=NOW if stock else None, cached=True)


@worded(
    (
        LostRace,
        LostRace,
        "Unable to delete inventory for resource provider {uuid} because the inventory was "
        "updated by another process. Please retry your request.",
    )
)
def delete_all(call: Call, uuid: str) -> Answer:
    """DELETE /resource_providers/{uuid}/inventories"""
    call.authorize("placement:resource_providers:inventories:delete")
    operations.delete_inventories(call.database, uuid)
    return call.reply()


@worded(_PROVIDER_GONE)
def show(call: Call, uuid: str, resource_class: str) -> Answer:
    """GET /resource_providers/{uuid}/inventories/{resource_class}"""
    call.authorize("placement:resource_providers:inventories:show")
    generation, stock = inventories.of_provider(call.database, uuid)
    inventory = stock.get(resource_class)
    if inventory is None:
        raise InventoryNotFound(resource_class=resource_class, uuid=uuid)
    body = record_of(inventory) | {"resource_provider_generation": generation}
    return call.reply(body, modified=inventory.modified)


@worded(
    CAPACITY_REFUSED,
    (
        InventoryMissing,
        BadRequest,
        "No inventory record with resource class for resource provider {uuid}: {error}",
    ),
    (GenerationConflict, GenerationConflict, "{error}"),
    (ConcurrentUpdate, ConcurrentUpdate, "update conflict: {error}"),
)
def update(call: Call, uuid: str, resource_class: str) -> Answer:
    """PUT /resource_providers/{uuid}/inventories/{resource_class}"""
    call.authorize("placement:resource_providers:inventories:update")
    wanted = body_for(call, uuid, schemas.UPDATE)
    inventory = inventory_from(wanted)
    generation = operations.update_inventory(
        call.database,
        uuid,
        wanted["resource_provider_generation"],
        resource_class,
        inventory,
        call.at_least(26),
    )
    body = record_of(inventory) | {"resource_provider_generation": generation}
    return call.reply(body, modified=NOW)


@worded(
    # the reference's error code, which clients know, although no generation is involved
    (
        InventoryInUse,
        ConcurrentUpdate,
        "Unable to delete inventory of class {resource_class}: {error}",
    ),
    (
        ConcurrentUpdate,
        ConcurrentUpdate,
        "Unable to delete inventory of class {resource_class}: {error}",
    ),
    (
        InventoryNotFound,
        NotFound,
        "No inventory of class {resource_class} found for delete: {error}",
    ),
    (
        ResourceClassNotFound,
        NotFound,
        "No inventory of class {resource_class} found for delete: {error}",
    ),
)
def delete(call: Call, uuid: str, resource_class: str) -> Answer:
    """DELETE /resource_providers/{uuid}/inventories/{resource_class}"""
    call.authorize("placement:resource_providers:inventories:delete")
    operations.delete_inventory(call.database, uuid, resource_class)
    return call.reply()
