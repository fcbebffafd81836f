"""Reading and editing one consumer's allocation records.

A consumer's body is `{"allocations": {provider uuid: {"resources": {class: amount}}}, …}`, as
Placement answers it. Editing keeps its other keys, and never leaves a provider without resources
behind: Placement refuses those.
"""

from collections.abc import Iterator, Mapping
from typing import Any

#: resource class → amount
Amounts = Mapping[str, int]
#: provider uuid → resource class → amount
ProviderAmounts = Mapping[str, Amounts]
#: the same, to be edited
Held = dict[str, dict[str, int]]
#: consumer uuid → the consumer's body
Allocations = dict[str, dict[str, Any]]


def held(body: Mapping[str, Any], provider_uuid: str, resource_class: str) -> int:
    """Return how much of a class the consumer holds of a provider."""
    record = body["allocations"].get(provider_uuid, {})
    return record.get("resources", {}).get(resource_class, 0)


def holdings(body: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield (provider uuid, class, amount) for all the consumer holds."""
    for provider_uuid, record in body["allocations"].items():
        for resource_class, amount in record.get("resources", {}).items():
            yield provider_uuid, resource_class, amount


def give(body: dict[str, Any], provider_uuid: str, resource_class: str, amount: int) -> None:
    """Add to what the consumer holds of a class on a provider."""
    record = body["allocations"].setdefault(provider_uuid, {})
    resources = record.setdefault("resources", {})
    resources[resource_class] = resources.get(resource_class, 0) + amount


def take(body: dict[str, Any], provider_uuid: str, resource_class: str) -> int:
    """Take away all the consumer holds of a class on a provider, and return how much it was."""
    record = body["allocations"].get(provider_uuid)
    if record is None:
        return 0
    amount = record.get("resources", {}).pop(resource_class, 0)
    if not record.get("resources"):
        del body["allocations"][provider_uuid]
    return amount
