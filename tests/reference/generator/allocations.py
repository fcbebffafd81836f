"""Write and delete allocations, in every form that the API has had."""

from collections.abc import Mapping
from typing import Any

from tests.reference.generator.draw import MANY_CONSUMERS, PROJECTS, TYPES, USERS, Draw
from tests.reference.script import Request, consumer_generation_of

Asked = Mapping[str, Mapping[str, int]]


def consumer_body(draw: Draw, uuid: str, asked: Asked, minor: int) -> dict[str, Any]:
    """Return the body for a consumer, in the form of POST at 1.minor (PUT: since 1.12)."""
    held: dict[str, Any] = {}
    for provider, resources in asked.items():
        held[provider] = {"resources": dict(resources)}
        if draw.chance(0.1):
            held[provider]["generation"] = draw.number(0, 9)
    body: dict[str, Any] = {
        "allocations": held,
        "project_id": draw.one(PROJECTS),
        "user_id": draw.one(USERS),
    }
    if minor >= 28:
        body["consumer_generation"] = consumer_generation_of(uuid)
    if minor >= 34 and draw.chance(0.3):
        body["mappings"] = {draw.one(["", "1", "_A"]): list(asked) or [draw.uuid()]}
    if minor >= 38:
        body["consumer_type"] = draw.one(TYPES)
    return body


def put_body(draw: Draw, uuid: str, asked: Asked, minor: int) -> dict[str, Any]:
    """Return the body for a consumer, in the form of PUT at 1.minor."""
    body = consumer_body(draw, uuid, asked, minor)
    if minor < 12:
        body["allocations"] = [
            {"resource_provider": {"uuid": provider}, "resources": dict(resources)}
            for provider, resources in asked.items()
        ]
        if asked and draw.chance(0.1):
            body["allocations"].append(body["allocations"][0])
    if minor < 8:
        del body["project_id"], body["user_id"]
    return body


def _put(draw: Draw, uuid: str, asked: Asked, minor: int) -> Request:
    return draw.request("PUT", f"/allocations/{uuid}", minor, put_body(draw, uuid, asked, minor))


def _consumer(draw: Draw) -> str:
    """Return a consumer, a new one if there are few, rarely in another spelling."""
    if len(draw.picture.consumers) < MANY_CONSUMERS and draw.chance(0.7):
        return draw.uuid()
    uuid = draw.consumer() or draw.uuid()
    return uuid.upper() if draw.chance(0.04) else uuid


def _lost(draw: Draw, asked: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Return the same, but at times with an unknown provider or class."""
    if draw.chance(0.05):
        asked[draw.uuid()] = {"VCPU": 1}
    if asked and draw.chance(0.05):
        asked[draw.one(list(asked))]["CUSTOM_NONE"] = 1
    if asked and draw.chance(0.05):
        asked[draw.one(list(asked))][draw.resource_class()] = 1
    return asked


def allocate(draw: Draw) -> Request | None:
    """PUT /allocations/{uuid}."""
    asked = draw.asked(3)
    if not asked:
        return None
    return _put(draw, _consumer(draw), _lost(draw, asked), draw.minor())


def change(draw: Draw) -> Request | None:
    """PUT /allocations/{uuid} of an existing consumer: the same amounts, less or more."""
    uuid = draw.consumer()
    if uuid is None:
        return None
    asked = draw.picture.held(uuid)
    for provider, resources in list(asked.items()):
        if len(asked) > 1 and draw.chance(0.2):
            del asked[provider]
            continue
        for name, amount in resources.items():
            inventory = draw.picture.inventories.get((provider, name))
            step = inventory.step_size if inventory and draw.chance(0.8) else 1
            resources[name] = max(1, amount + step * draw.one([0, 0, 0, 0, -1, 1, 2]))
    return _put(draw, uuid, asked, draw.minor(0 if asked else 28))


def release(draw: Draw) -> Request | None:
    """DELETE /allocations/{uuid}."""
    holders = sorted({consumer for consumer, _, _ in draw.picture.allocations})
    uuid = draw.one(holders) if holders and draw.chance(0.8) else draw.consumer() or draw.uuid()
    return draw.request("DELETE", f"/allocations/{uuid}", draw.minor())


def empty(draw: Draw) -> Request:
    """PUT /allocations/{uuid} with no allocations."""
    uuid = draw.uuid() if draw.chance(0.15) else draw.consumer() or draw.uuid()
    return _put(draw, uuid, {}, draw.minor(28))


def _post(draw: Draw, held: Mapping[str, Asked], minor: int) -> Request:
    body = {uuid: consumer_body(draw, uuid, asked, minor) for uuid, asked in held.items()}
    return draw.request("POST", "/allocations", minor, body)


def allocate_several(draw: Draw) -> Request | None:
    """POST /allocations of independent consumers."""
    held = {
        _consumer(draw): {} if draw.chance(0.15) else _lost(draw, draw.asked(2))
        for _ in range(draw.number(1, 3))
    }
    return _post(draw, held, draw.minor(13))


def move(draw: Draw) -> Request | None:
    """POST /allocations that moves allocations from one consumer to another, at times both ways."""
    holders = sorted({consumer for consumer, _, _ in draw.picture.allocations})
    giver = draw.one(holders) if holders else None
    if giver is None:
        return None
    taker = _consumer(draw)
    held = {giver: {}, taker: draw.picture.held(giver)}
    if draw.chance(0.3):
        held[giver] = draw.picture.held(taker)
    if draw.chance(0.3):
        held = dict(reversed(held.items()))
    return _post(draw, held, draw.minor(13))
