"""Write aggregates, traits and resource classes."""

from typing import Any

from tests.reference.generator.draw import (
    CUSTOM_CLASSES,
    CUSTOM_TRAITS,
    STANDARD_CLASSES,
    STANDARD_TRAITS,
    Draw,
)
from tests.reference.script import Request, generation_of


def set_aggregates(draw: Draw) -> Request | None:
    """PUT …/aggregates, in the form of the microversion."""
    uuid = draw.provider()
    if uuid is None:
        return None
    minor = draw.minor(1)
    body: Any = draw.aggregates(3)
    if draw.chance(0.1):
        body = [draw.one([item.upper(), item.replace("-", ""), item]) for item in body]
    if minor >= 19:
        body = {"aggregates": body, "resource_provider_generation": generation_of(uuid)}
    return draw.request("PUT", f"/resource_providers/{uuid}/aggregates", minor, body)


def set_provider_traits(draw: Draw) -> Request | None:
    """PUT …/traits, at times the current ones, one twice or an unknown one."""
    uuid = draw.provider()
    if uuid is None:
        return None
    names = draw.traits(4)
    if draw.chance(0.15):
        names = sorted(draw.picture.traits.get(uuid, ()))
    if names and draw.chance(0.1):
        names.append(names[0])
    if draw.chance(0.08):
        names += draw.some(["CUSTOM_NO_SUCH", "NOPE", "hw"], 2, least=1)
    body = {"traits": names, "resource_provider_generation": generation_of(uuid)}
    return draw.request("PUT", f"/resource_providers/{uuid}/traits", draw.minor(6), body)


def delete_provider_traits(draw: Draw) -> Request | None:
    """DELETE …/traits."""
    uuid = draw.provider()
    if uuid is None:
        return None
    return draw.request("DELETE", f"/resource_providers/{uuid}/traits", draw.minor(6))


def put_trait(draw: Draw) -> Request:
    """PUT /traits/{name}."""
    name = draw.one(CUSTOM_TRAITS)
    if draw.chance(0.15):
        name = draw.one([*STANDARD_TRAITS, "custom_x", "CUSTOM_x", "CUSTOM_" + "Y" * 249, "X"])
    return draw.request("PUT", f"/traits/{name}", draw.minor(6))


def delete_trait(draw: Draw) -> Request:
    """DELETE /traits/{name}."""
    name = draw.one(draw.picture.custom_traits or CUSTOM_TRAITS)
    if draw.chance(0.1):
        name = draw.one([*STANDARD_TRAITS, "NOPE", "CUSTOM_NO_SUCH"])
    return draw.request("DELETE", f"/traits/{name}", draw.minor(6))


def create_class(draw: Draw) -> Request:
    """POST /resource_classes."""
    return draw.request("POST", "/resource_classes", draw.minor(2), {"name": _new_class(draw)})


def rename_class(draw: Draw) -> Request:
    """PUT /resource_classes/{name} in versions up to 1.6."""
    path = f"/resource_classes/{_old_class(draw)}"
    return draw.request("PUT", path, draw.minor(2, 6), {"name": _new_class(draw)})


def put_class(draw: Draw) -> Request:
    """PUT /resource_classes/{name} since 1.7."""
    return draw.request("PUT", f"/resource_classes/{_new_class(draw)}", draw.minor(7))


def delete_class(draw: Draw) -> Request:
    """DELETE /resource_classes/{name}."""
    return draw.request("DELETE", f"/resource_classes/{_old_class(draw)}", draw.minor(2))


def _new_class(draw: Draw) -> str:
    if draw.chance(0.1):
        return draw.one([*STANDARD_CLASSES, "custom_x", "CUSTOM_", "CUSTOM_" + "Z" * 249, "X-Y"])
    return draw.one(CUSTOM_CLASSES)


def _old_class(draw: Draw) -> str:
    stocked = {name for _, name in draw.picture.inventories}
    unused = [name for name in draw.picture.class_names if name not in stocked]
    if unused and draw.chance(0.4):
        return draw.one(unused)
    if draw.chance(0.15):
        return draw.one([*STANDARD_CLASSES, "CUSTOM_NONE", "nope"])
    return draw.one(draw.picture.class_names or CUSTOM_CLASSES)
