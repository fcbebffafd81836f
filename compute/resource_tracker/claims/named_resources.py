"""Resources with names of their own, such as PMEM namespaces: which instance has which."""

from collections.abc import Iterable

from compute import exceptions
from compute.provider_tree import Resource
from compute.resource_tracker.claims.orders import Orders
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


def are_open(node: TrackedNode, orders: Orders) -> bool:
    """Say whether the node has named resources, and the orders name none of them."""
    if node.tree is None:
        return False
    classes = {
        uuid: node.tree.data(uuid).resources for uuid in node.tree.get_provider_uuids(node.uuid)
    }
    ordered = any(
        name in classes.get(uuid, ()) for uuid, part in orders.parts.items() for name in part
    )
    return any(classes.values()) and not ordered


def choose(node: TrackedNode, instance_uuid: str, orders: Orders) -> list[Resource]:
    """Choose free resources for each amount ordered of a class that has named resources.

    Those that the instance has already come first, unless it shall have new ones.

    Raises ComputeResourcesUnavailable if there are too few, and says who has the others.
    """
    tree = node.tree
    if tree is None:
        return []
    owners = {
        resource: uuid
        for uuid, held in list(node.holdings.items())
        for share in held.shares
        for resource in share.resources
    }
    chosen: list[Resource] = []
    for provider, part in orders.parts.items():
        resources = tree.data(provider).resources
        for name, amount in part.items():
            if name not in resources:
                continue
            listed = sorted(resources[name], key=lambda resource: resource.identifier)
            mine = [one for one in listed if owners.get(one) == instance_uuid]
            free = [one for one in listed if one not in owners]
            usable = [*free, *mine] if orders.anew else [*mine, *free]
            if len(usable) < amount:
                others = {owners[one] for one in listed if one in owners} - {instance_uuid}
                raise exceptions.ComputeResourcesUnavailable(
                    reason=f"{amount} {name} of provider {provider} asked, {len(usable)} free; "
                    f"held by {', '.join(sorted(others)) or 'nobody'}"
                )
            chosen += usable[:amount]
    return chosen
