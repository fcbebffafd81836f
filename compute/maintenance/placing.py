"""Where in a node's tree an instance's resources are to be allocated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compute import exceptions
from compute.maintenance.picture import Amounts, ProviderPicture
from compute.records.instance import Instance
from virt.reshape.numa import cell_name, stays_together
from virt.reshape.relocate import Target, relocate

#: provider uuid → `{"resources": {class: amount}}`
Places = dict[str, dict[str, Any]]


def place(
    instance: Instance,
    resources: Amounts,
    tree: Sequence[ProviderPicture],
    pools: Callable[[], Sequence[ProviderPicture]],
) -> Places:
    """Say where the resources go, by the rule of a reshape.

    What the root has an inventory of is the root's. The rest goes where the instance is known to
    be, else whole to the first provider with room for it, processors and memory together; what fits
    nowhere whole is spread. Providers that share are only for classes that the tree hasn't.

    :param tree: the node's providers with their holders, the root first
    :param pools: asks for those that share with the root
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


def _held_by_others(providers: Sequence[ProviderPicture], consumer: str) -> dict[str, Any]:
    """Consumer → what it holds of the providers; what `consumer` has is to be replaced."""
    found: dict[str, Any] = {}
    for provider in providers:
        for holder, held in provider.holders.items():
            if holder != consumer:
                body = found.setdefault(holder, {"allocations": {}})
                body["allocations"][provider.uuid] = {"resources": dict(held)}
    return found


def _known_places(
    instance: Instance, resources: Amounts, below: Sequence[ProviderPicture]
) -> Mapping[str, Amounts] | None:
    """Provider → class → amount of the cells that the instance's record names.

    None if it names none, or others than there are, or other amounts than are to be placed.
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
