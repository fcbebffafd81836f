"""Allocations as Placement answers them, for tests."""

from collections import Counter
from uuid import UUID


def uuid(number):
    return str(UUID(int=number, version=4))


def body(resources_by_provider, generation=1):
    return {
        "allocations": {
            provider: {"generation": 5, "resources": dict(resources)}
            for provider, resources in resources_by_provider.items()
        },
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": generation,
    }


def resources(allocations):
    """Consumer → provider → resources, without what never changes."""
    return {
        consumer: {provider: record["resources"] for provider, record in one["allocations"].items()}
        for consumer, one in allocations.items()
    }


def totals(allocations):
    """Consumer → class → amount, wherever it is."""
    return {
        consumer: sum((Counter(amounts) for amounts in places.values()), Counter())
        for consumer, places in resources(allocations).items()
    }


def used(allocations, provider, resource_class):
    return sum(
        places.get(provider, {}).get(resource_class, 0)
        for places in resources(allocations).values()
    )
