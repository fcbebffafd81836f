"""What consumers hold in a reshape: made up before it, and checked after it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations, give, holdings
from compute.provider_tree.stock import Stock
from virt.testing.scenario import (
    OTHER_HOST,
    Holdings,
    World,
    stable_uuid,
)

_MADE_UP_CONSUMERS = 3


def handed_over(world: World, nodename: str, held: Holdings | None) -> Allocations:
    """Return the allocations a reshape of the node begins with.

    All consumers also hold something of the providers that an operator and an accelerator service
    put below the node: of the same classes. One is being evacuated and has something on another
    host as well; one has nothing of the driver's at all. None of that may change.
    """
    wanted = _made_up(world, nodename) if held is None else held
    known = set(world.tree.get_provider_uuids(nodename))
    allocations: Allocations = {}
    for consumer, places in wanted.items():
        body = allocations.setdefault(consumer, _body())
        for name, resources in places.items():
            provider = world.uuid(name)
            for resource_class, amount in resources.items():
                give(body, provider, resource_class, amount)
    allocations = {
        consumer: body
        for consumer, body in allocations.items()
        if known.intersection(body["allocations"])
    }
    if allocations:
        evacuated = allocations[min(allocations)]
        for _provider, resource_class, amount in list(holdings(evacuated)):
            give(evacuated, world.uuid(OTHER_HOST), resource_class, amount)
    stranger = allocations.setdefault(stable_uuid("stranger"), _body())
    give(stranger, world.uuid(f"{OTHER_HOST}_numa0"), "VCPU", 1)
    for neighbour in (name for name in world.foreign if world.uuid(name) in known):
        for resource_class in world.tree.data(neighbour).inventory:
            for body in allocations.values():
                give(body, world.uuid(neighbour), resource_class, 2)
    for body in allocations.values():
        for place in body["allocations"].values():
            place["generation"] = 1
    return allocations


def complaints(
    before: Allocations,
    after: Allocations,
    renamed: Mapping[str, str],
    tree: ProviderTree,
    world: World,
) -> Iterator[str]:
    """Yield what is wrong with allocations that were `before` and now are `after`."""
    for consumer in before.keys() - after.keys():
        yield f"consumer {consumer} vanished from the allocations"
    for consumer in after.keys() - before.keys():
        yield f"consumer {consumer} was added to the allocations"
    foreign = {world.uuid(name): name for name in world.foreign}
    for consumer in sorted(before.keys() & after.keys()):
        for complaint in _consumer_complaints(
            before[consumer], after[consumer], renamed, tree, foreign
        ):
            yield f"consumer {consumer} {complaint}"
    yield from _overflows(after, tree, foreign)


def _consumer_complaints(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    renamed: Mapping[str, str],
    tree: ProviderTree,
    foreign: Mapping[str, str],
) -> Iterator[str]:
    for key in sorted((before.keys() | after.keys()) - {"allocations"}):
        if before.get(key) != after.get(key):
            yield f"has another {key}: {after.get(key)!r} instead of {before.get(key)!r}"
    for provider, place in after["allocations"].items():
        if not place.get("resources"):
            yield f"has an allocation without resources, on provider {_named(tree, provider)}"
    for provider, resource_class, amount in holdings(after):
        if not isinstance(amount, int) or amount < 1:
            yield f"has {amount!r} {resource_class} on provider {_named(tree, provider)}"
        elif not tree.exists(provider):
            yield f"has {resource_class} on provider {provider}, which is not in the tree"
        elif provider not in foreign and resource_class not in tree.data(provider).inventory:
            yield (
                f"has {resource_class} on provider {_named(tree, provider)}, "
                "which has no inventory of it"
            )
    for provider, name in foreign.items():
        old, new = (body["allocations"].get(provider) for body in (before, after))
        if old != new:
            yield f"has something else on {name}, which is not the driver's: {new} instead of {old}"
    old_totals, new_totals = _totals(before, foreign, renamed), _totals(after, foreign, {})
    for resource_class in sorted(old_totals.keys() | new_totals.keys()):
        if old_totals[resource_class] != new_totals[resource_class]:
            yield (
                f"has {new_totals[resource_class]} {resource_class} after the reshape and had "
                f"{old_totals[resource_class]} before"
            )


def _overflows(
    allocations: Allocations, tree: ProviderTree, foreign: Mapping[str, str]
) -> Iterator[str]:
    used: Counter[tuple[str, str]] = Counter()
    for consumer, body in sorted(allocations.items()):
        for provider, resource_class, amount in holdings(body):
            if provider in foreign or not tree.exists(provider):
                continue
            inventory = tree.data(provider).inventory
            if resource_class not in inventory:
                continue
            stock = Stock.of(inventory[resource_class], used[provider, resource_class])
            used[provider, resource_class] += amount
            if not stock.has_room_for(amount):
                yield (
                    f"consumer {consumer} has {amount} {resource_class} on provider "
                    f"{_named(tree, provider)}, which has no room for it: free {stock.free}, "
                    f"units {stock.min_unit} to {stock.max_unit} in steps of {stock.step_size}"
                )


def _made_up(world: World, nodename: str) -> Holdings:
    """Give some consumers the least amount of everything that the driver reports."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    stocks: dict[tuple[str, str], Stock] = {}
    for number in range(_MADE_UP_CONSUMERS):
        consumer = found.setdefault(stable_uuid(f"consumer-{number}"), {})
        for uuid in world.tree.get_provider_uuids(nodename):
            one = world.tree.data(uuid)
            if one.name in world.foreign:
                continue
            for resource_class, inventory in one.inventory.items():
                stock = stocks.setdefault((uuid, resource_class), Stock.of(inventory))
                amount = -(-stock.min_unit // stock.step_size) * stock.step_size
                if stock.has_room_for(amount):
                    stock.used += amount
                    consumer.setdefault(one.name, {})[resource_class] = amount
    return found


def _body() -> dict[str, Any]:
    return {
        "allocations": {},
        "project_id": "a-project",
        "user_id": "a-user",
        "consumer_generation": 3,
    }


def _totals(
    body: Mapping[str, Any], foreign: Mapping[str, str], renamed: Mapping[str, str]
) -> Counter[str]:
    """Return class → amount of all the consumer has of the driver's providers."""
    totals: Counter[str] = Counter()
    for provider, resource_class, amount in holdings(body):
        if provider not in foreign:
            totals[renamed.get(resource_class, resource_class)] += amount
    return totals


def _named(tree: ProviderTree, provider: str) -> str:
    return tree.data(provider).name if tree.exists(provider) else provider
