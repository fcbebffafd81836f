"""POST /reshaper."""

from typing import Any

from tests.reference.generator.allocations import Asked, consumer_body
from tests.reference.generator.draw import Draw
from tests.reference.generator.inventories import stock
from tests.reference.script import Request, generation_of


def move_inventory(draw: Draw) -> Request | None:
    """Move a class, with all its allocations, from one provider to another."""
    slot = draw.slot()
    target = draw.provider()
    if slot is None or target is None:
        return None
    source, moved = slot
    stocks: dict[str, dict[str, Any]] = {source: {}, target: {}}
    for (uuid, name), inventory in draw.picture.inventories.items():
        if uuid in stocks:
            stocks[uuid][name] = inventory._asdict()
    new_name = draw.resource_class() if draw.chance(0.2) else moved
    stocks[target][new_name] = stocks[source].pop(moved)
    held: dict[str, Asked] = {}
    for consumer, provider, name in draw.picture.allocations:
        if (provider, name) == slot and not draw.chance(0.03):
            asked = dict(draw.picture.held(consumer))
            amount = asked[source].pop(moved)
            if not asked[source]:
                del asked[source]
            there = asked.setdefault(target, {})
            there[new_name] = there.get(new_name, 0) + amount
            held[consumer] = asked
    return _reshape(draw, stocks, held)


def spread(draw: Draw) -> Request | None:
    """Split a class of a provider among its descendants, with its consumers.

    Inventories and allocations are usually such as a driver would write.
    """
    parents = [slot for slot in draw.picture.inventories if draw.picture.children(slot[0])]
    if not parents:
        return None
    source, moved = draw.one(parents)
    below = draw.some(draw.picture.children(source), 2, least=1)
    stocks: dict[str, dict[str, Any]] = {uuid: {} for uuid in [source, *below]}
    for (uuid, name), inventory in draw.picture.inventories.items():
        if uuid in stocks:
            stocks[uuid][name] = inventory._asdict()
    taken = stocks[source].pop(moved)
    for uuid in below:
        stocks[uuid][moved] = {**taken, "total": max(1, taken["total"] // draw.one([1, 1, 2]))}
        if draw.chance(0.8):
            # existing allocations must stay valid
            stocks[uuid][moved] |= {"reserved": 0, "min_unit": 1, "step_size": 1}
    held: dict[str, Asked] = {}
    for consumer, provider, name in draw.picture.allocations:
        if (provider, name) != (source, moved):
            continue
        asked = draw.picture.held(consumer)
        amount = asked[source].pop(moved)
        if not asked[source]:
            del asked[source]
        parts = below if amount >= len(below) and draw.chance(0.5) else [draw.one(below)]
        for index, uuid in enumerate(parts):
            share = amount // len(parts) + (amount % len(parts) if not index else 0)
            there = asked.setdefault(uuid, {})
            there[moved] = there.get(moved, 0) + share
        held[consumer] = asked
    return _reshape(draw, stocks, held)


def rewrite(draw: Draw) -> Request | None:
    """Write new inventories for some providers, and new allocations for some consumers."""
    uuids = draw.some(list(draw.picture.providers), 2, least=1)
    if not uuids:
        return None
    stocks = {uuid: {} if draw.chance(0.1) else stock(draw, uuid) for uuid in uuids}
    held: dict[str, Asked] = {}
    for consumer in draw.some(list(draw.picture.consumers), 3):
        held[consumer] = draw.picture.held(consumer) if draw.chance(0.8) else draw.asked(2)
    if draw.chance(0.15):
        held[draw.uuid()] = {} if draw.chance(0.2) else draw.asked(2)
    if draw.chance(0.05):
        held[draw.uuid()] = {draw.uuid(): {"VCPU": 1}}
    if draw.chance(0.05):
        stocks[draw.uuid()] = {}
    return _reshape(draw, stocks, held)


def _reshape(draw: Draw, stocks: dict[str, dict[str, Any]], held: dict[str, Asked]) -> Request:
    minor = draw.minor(30)
    body = {
        "inventories": {
            uuid: {"resource_provider_generation": generation_of(uuid), "inventories": records}
            for uuid, records in stocks.items()
        },
        "allocations": {
            uuid: consumer_body(draw, uuid, asked, minor) for uuid, asked in held.items()
        },
    }
    return draw.request("POST", "/reshaper", minor, body)
