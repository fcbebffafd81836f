"""Write inventories."""

from typing import Any

from tests.reference.generator.draw import Draw
from tests.reference.script import Request, generation_of

MAX_INT = 2147483647
RATIOS = (1.0, 1, 1.5, 2.0, 16.0, 4, 0.5, 0.1, 1.1)


def record(draw: Draw) -> dict[str, Any]:
    """Return an inventory, usually one with free capacity."""
    total = draw.one([draw.number(1, 100), draw.number(1, 100), 1, 2, 8])
    found: dict[str, Any] = {"total": total}
    if draw.chance(0.3):
        found["reserved"] = draw.one([0, draw.number(0, total), total, total + 1])
    if draw.chance(0.25):
        found["min_unit"] = draw.one([1, 2, 3])
    if draw.chance(0.3):
        found["max_unit"] = draw.one([1, total, 2 * total, MAX_INT])
    if draw.chance(0.25):
        found["step_size"] = draw.one([1, 2, 3, 5])
    if draw.chance(0.4):
        found["allocation_ratio"] = draw.one(RATIOS)
    if draw.chance(0.03):
        found["total"] = float(total)
    if draw.chance(0.03):
        found["total"] = MAX_INT
    return found


def stock(draw: Draw, uuid: str) -> dict[str, Any]:
    """Return all inventories for a provider, which usually keep its classes."""
    kept = [name for provider, name in draw.picture.inventories if provider == uuid]
    if draw.chance(0.3):
        kept = draw.some(kept, len(kept))
    names = [*kept, *(draw.resource_class() for _ in range(draw.number(0, 3)))]
    return {name: record(draw) for name in names}


def create(draw: Draw) -> Request | None:
    """POST …/inventories."""
    uuid = draw.provider()
    if uuid is None:
        return None
    name = draw.resource_class()
    if (uuid, name) in draw.picture.inventories and draw.chance(0.7):
        name = draw.resource_class()
    body = {"resource_class": name, **record(draw)}
    if draw.chance(0.2):
        body["resource_provider_generation"] = draw.one([generation_of(uuid), 999])
    return draw.request("POST", f"/resource_providers/{uuid}/inventories", draw.minor(), body)


def replace_all(draw: Draw) -> Request | None:
    """PUT …/inventories."""
    uuid = draw.provider()
    if uuid is None:
        return None
    body = {
        "resource_provider_generation": generation_of(uuid),
        "inventories": {} if draw.chance(0.05) else stock(draw, uuid),
    }
    return draw.request("PUT", f"/resource_providers/{uuid}/inventories", draw.minor(), body)


def update(draw: Draw) -> Request | None:
    """PUT …/inventories/{resource_class}, usually of an existing inventory."""
    uuid, name = draw.slot() or (draw.provider(), "VCPU")
    if uuid is None:
        return None
    if draw.chance(0.1):
        name = draw.one([draw.resource_class(), "CUSTOM_NONE"])
    body = {**record(draw), "resource_provider_generation": generation_of(uuid)}
    path = f"/resource_providers/{uuid}/inventories/{name}"
    return draw.request("PUT", path, draw.minor(), body)


def delete(draw: Draw) -> Request | None:
    """DELETE …/inventories/{resource_class}, usually of an existing inventory."""
    uuid, name = draw.slot() or (draw.provider(), "VCPU")
    if uuid is None:
        return None
    if draw.chance(0.15):
        name = draw.one([draw.resource_class(), "CUSTOM_NONE"])
    return draw.request("DELETE", f"/resource_providers/{uuid}/inventories/{name}", draw.minor())


def delete_all(draw: Draw) -> Request | None:
    """DELETE …/inventories."""
    uuid = draw.provider()
    if uuid is None:
        return None
    return draw.request("DELETE", f"/resource_providers/{uuid}/inventories", draw.minor())
