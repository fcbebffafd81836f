"""Create, rename, move and delete resource providers."""

import dataclasses
from typing import Any

from tests.reference.generator.draw import MANY_PROVIDERS, PROVIDER_NAMES, Draw
from tests.reference.script import Request


def create(draw: Draw) -> Request | None:
    """POST /resource_providers: a root or a child, with a uuid in some spelling or without."""
    if len(draw.picture.providers) >= MANY_PROVIDERS:
        return None
    minor = draw.minor()
    body: dict[str, Any] = {"name": _name(draw)}
    uuid = draw.uuid()
    if draw.chance(0.8):
        body["uuid"] = _spelled(draw, uuid)
    if draw.chance(0.04):
        body["uuid"] = draw.provider() or uuid
    if minor >= 14 and draw.chance(0.75):
        body["parent_provider_uuid"] = draw.provider()
    request = draw.request("POST", "/resource_providers", minor, body)
    return dataclasses.replace(request, label=draw.label)


def rename(draw: Draw) -> Request | None:
    """PUT /resource_providers/{uuid} with another name."""
    uuid = draw.provider()
    if uuid is None:
        return None
    name = draw.one(["", _name(draw), _name(draw)])
    return draw.request("PUT", f"/resource_providers/{uuid}", draw.minor(), {"name": name})


def move(draw: Draw) -> Request | None:
    """PUT /resource_providers/{uuid} with another parent, the same, none, or an invalid one."""
    uuid = draw.provider()
    if uuid is None:
        return None
    row = draw.picture.providers.get(uuid)
    parents = [None, draw.provider(), draw.provider(), draw.provider(), row and row.parent]
    body = {"name": row.name if row else "x", "parent_provider_uuid": draw.one(parents)}
    # parents can be changed since 1.37
    minor = draw.minor(37) if draw.chance(0.4) else draw.minor(14)
    return draw.request("PUT", f"/resource_providers/{uuid}", minor, body)


def delete(draw: Draw) -> Request | None:
    """DELETE /resource_providers/{uuid}, usually of one without children and allocations."""
    uuid = draw.provider()
    if uuid is None:
        return None
    free = [
        uuid
        for uuid in draw.picture.providers
        if not draw.picture.children(uuid)
        and not any(uuid == provider for _, provider, _ in draw.picture.allocations)
    ]
    if free and draw.chance(0.6):
        uuid = draw.one(free)
    return draw.request("DELETE", f"/resource_providers/{uuid}", draw.minor())


def _name(draw: Draw) -> str:
    taken = [row.name for row in draw.picture.providers.values()]
    if taken and draw.chance(0.05):
        return draw.one(taken)
    return f"{draw.one(PROVIDER_NAMES)} {draw.label}" if draw.chance(0.9) else "n" * 200


def _spelled(draw: Draw, uuid: str) -> str:
    if draw.chance(0.9):
        return uuid
    bare = uuid.replace("-", "")
    return draw.one([uuid.upper(), bare, f"{{{uuid}}}", f"urn:uuid:{uuid}", f"-{bare}"])
