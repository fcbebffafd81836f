"""Resources with names of their own, such as PMEM namespaces: which instance has which."""

from collections.abc import Iterable, Mapping
from typing import Any

from compute import exceptions
from compute.provider_tree import Resource
from compute.resource_tracker.node.node import TrackedNode


def assigned(nodes: Iterable[TrackedNode]) -> dict[str, dict[str, set[Resource]]]:
    """Return provider uuid → class → the resources that instances have."""
    found: dict[str, dict[str, set[Resource]]] = {}
    for node in nodes:
        for resource in node.assigned_resources():
            classes = found.setdefault(resource.provider_uuid, {})
            classes.setdefault(resource.resource_class, set()).add(resource)
    return found


def check(node: TrackedNode) -> None:
    """Raise AssignedResourceNotFound if an instance has a resource that the node hasn't."""
    tree = node.tree
    missing = sorted(
        f"{resource.resource_class} {resource.identifier} of {resource.provider_uuid}"
        for resource in node.assigned_resources()
        if tree is None
        or not tree.exists(resource.provider_uuid)
        or resource
        not in tree.data(resource.provider_uuid).resources.get(resource.resource_class, ())
    )
    if missing:
        raise exceptions.AssignedResourceNotFound(reason=", ".join(missing))


def choose(node: TrackedNode, allocations: Mapping[str, Any] | None) -> list[Resource]:
    """Choose free resources for each amount allocated of a class that has named resources.

    :param allocations: provider uuid → `{"resources": {class: amount}}`. Providers that weren't in
        the node's tree at the last update are skipped.

    Raises ComputeResourcesUnavailable if there are too few.
    """
    tree = node.tree
    chosen: list[Resource] = []
    taken = node.assigned_resources()
    for provider, part in (allocations or {}).items():
        if tree is None or not tree.exists(provider):
            continue
        resources = tree.data(provider).resources
        for name, amount in part["resources"].items():
            if name not in resources:
                continue
            free = sorted(resources[name] - taken, key=lambda resource: resource.identifier)
            if len(free) < amount:
                raise exceptions.ComputeResourcesUnavailable(
                    reason=f"{amount} {name} of provider {provider} asked, {len(free)} free"
                )
            chosen += free[:amount]
    return chosen
