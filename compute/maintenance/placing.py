"""Choose the providers of a node's tree for an instance's resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compute import exceptions
from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree.allocation_records import Amounts
from compute.provider_tree.cells import cell_name, stays_together
from compute.provider_tree.relocation import Target, relocate
from compute.records.instance import Instance

#: provider uuid → `{"resources": {class: amount}}`
Places = dict[str, dict[str, Any]]


def place(
    instance: Instance,
    resources: Amounts,
    tree: Sequence[ProviderDetails],
    pools: Callable[[], Sequence[ProviderDetails]],
) -> Places:
    """Return the allocations of the resources, by the rule that a reshape follows.

    Classes of which the root has an inventory are allocated on the root. The others go to the
    NUMA cells that the instance's record names; else to the first provider with room for all of
    them, processors and memory together; else they are spread. Sharing providers are used only
    for classes that the tree lacks.

    :param tree: the node's providers with their consumers, the root first
    :param pools: reads the providers that share with the root
    :raises AllocationUpdateFailed: there is no room, or no provider has the class
    """
    root, *below = tree
    elsewhere = set(resources) - set(root.inventories)
    if not elsewhere:
        return {root.uuid: {"resources": dict(resources)}}
    missing = elsewhere - {name for provider in below for name in provider.inventories}
    providers = [*tree, *(pools() if missing else ())]
    allocations = _held_by_others(providers, instance.uuid)
    allocations[instance.uuid] = {"allocations": {root.uuid: {"resources": dict(resources)}}}
    known = _known_places(instance, resources, below)
    try:
        relocate(
            allocations,
            {root.uuid: elsewhere},
            [Target(one.uuid, one.name, one.inventories) for one in providers],
            [name for name in elsewhere if stays_together(name)],
            lambda consumer: known if consumer == instance.uuid else None,
        )
    except exceptions.ReshapeFailed as failed:
        raise exceptions.AllocationUpdateFailed(
            consumer_uuid=instance.uuid, error=failed.kwargs["error"]
        ) from failed
    return allocations[instance.uuid]["allocations"]


def _held_by_others(providers: Sequence[ProviderDetails], consumer: str) -> dict[str, Any]:
    """Return consumer → allocations of the providers, without those of `consumer`."""
    found: dict[str, Any] = {}
    for provider in providers:
        for holder, held in provider.holders.items():
            if holder != consumer:
                body = found.setdefault(holder, {"allocations": {}})
                body["allocations"][provider.uuid] = {"resources": dict(held)}
    return found


def _known_places(
    instance: Instance, resources: Amounts, below: Sequence[ProviderDetails]
) -> Mapping[str, Amounts] | None:
    """Return provider → class → amount, of the NUMA cells that the instance's record names.

    None if the record names no cells, cells that don't exist, or other amounts than `resources`.
    """
    uuids = {provider.name: provider.uuid for provider in below}
    places: dict[str, dict[str, int]] = {}
    for cell in (instance.numa_topology or {}).get("cells", ()):
        uuid = uuids.get(cell_name(instance.node or "", cell.get("id")))
        if uuid is None:
            return None
        held = places.setdefault(uuid, {})
        for name, amount in (("VCPU", cell["vcpus"]), ("MEMORY_MB", cell["memory_mb"])):
            held[name] = held.get(name, 0) + amount
    sums = {name: sum(held[name] for held in places.values()) for name in ("VCPU", "MEMORY_MB")}
    agreed = {name for name, amount in sums.items() if amount == resources.get(name)}
    if not places or not agreed:
        return None
    return {uuid: {name: held[name] for name in agreed} for uuid, held in places.items()}
