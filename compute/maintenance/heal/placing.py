"""Choose the providers of a node's tree for an instance's resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compute import exceptions
from compute.maintenance.heal.guest_places import Knowing
from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree.allocation_records import Amounts, Held
from compute.provider_tree.cells import stays_together
from compute.provider_tree.relocation import Target, relocate
from compute.records.instance import Instance
from compute.requests.translation import healed_amounts
from compute.shares.known import ToldShares

#: provider uuid → `{"resources": {class: amount}}`
Places = dict[str, dict[str, Any]]

VGPU = "VGPU"
ROOT, ROOM, ONLY = "the root has the class", "there is room", "no other has the class"

#: what an instance has on NUMA cells
_OF_CELLS = ("VCPU", "PCPU", "MEMORY_MB")
#: extra specs of instances that run on certain cells
_CONFINING = frozenset({"hw:cpu_policy", "hw:numa_nodes", "hw:mem_page_size"})


@dataclass(frozen=True)
class PlacedShares:
    """The allocations to write, and class → why they are where they are."""

    allocations: Places
    reasons: Mapping[str, str]


def requested(instance: Instance, tree: Sequence[ProviderDetails]) -> dict[str, int]:
    """Return class → how much the instance's flavor asks for of a node with this tree.

    Processors that its policy dedicates are PCPU where the node has such. Values that nova ignores
    are ignored.
    """
    pinned = any("PCPU" in one.inventories for one in tree)
    return dict(healed_amounts(instance.flavor, instance.booted_from_volume, pinned))


def place(
    instance: Instance,
    resources: Amounts,
    tree: Sequence[ProviderDetails],
    pools: Callable[[], Sequence[ProviderDetails]],
    knowing: Knowing,
) -> PlacedShares:
    """Return the allocations of the resources, by the rule that a reshape follows.

    Classes of which the root has an inventory are allocated on the root. The others go where
    somebody says that the instance has them. If nobody does, processors and memory go to the first
    provider with room for all of them, else they are spread; unless the flavor asks for cells. Any
    other class goes to the one provider that has it. Sharing providers are used only for classes
    that the tree lacks.

    :param tree: the node's providers with their consumers, the root first
    :param pools: reads the providers that share with the root
    :raises AllocationUpdateFailed: there is no room, or no provider has the class
    :raises HealPlaceUnknown: several providers may be meant, or the one that is meant isn't there;
        HealvGPUAllocationNotSupported if it is about VGPU
    """
    root, *below = tree
    elsewhere = set(resources) - set(root.inventories)
    reasons = dict.fromkeys(set(resources) - elsewhere, ROOT)
    if not elsewhere:
        return PlacedShares({root.uuid: {"resources": dict(resources)}}, reasons)
    missing = elsewhere - {name for provider in below for name in provider.inventories}
    providers = [*tree, *(pools() if missing else ())]
    told = knowing.told(resources)
    places: Held = {}
    for name in sorted(elsewhere):
        found, reason = _place_of(instance, name, resources, providers, told, knowing.doubt)
        reasons[name] = reason
        for uuid, amount in found.items():
            places.setdefault(uuid, {})[name] = amount
    allocations = _held_by_others(providers, instance.uuid)
    allocations[instance.uuid] = {"allocations": {root.uuid: {"resources": dict(resources)}}}
    try:
        relocate(
            allocations,
            {root.uuid: elsewhere},
            [Target(one.uuid, one.name, one.inventories) for one in providers],
            [name for name in elsewhere if stays_together(name)],
            lambda consumer: places or None if consumer == instance.uuid else None,
        )
    except exceptions.ReshapeFailed as failed:
        raise exceptions.AllocationUpdateFailed(
            consumer_uuid=instance.uuid, error=failed.kwargs["error"]
        ) from failed
    return PlacedShares(allocations[instance.uuid]["allocations"], reasons)


def _unknown(instance: Instance, resource_class: str, error: str) -> exceptions.NovaException:
    """Return the exception that says that nobody knows where the instance has the class."""
    uuid = instance.uuid
    failure = exceptions.HealPlaceUnknown(
        instance_uuid=uuid, resource_class=resource_class, error=error
    )
    if resource_class != VGPU:
        return failure
    return exceptions.HealvGPUAllocationNotSupported(failure.message, instance_uuid=uuid)


def _place_of(
    instance: Instance,
    name: str,
    resources: Amounts,
    providers: Sequence[ProviderDetails],
    told: Sequence[ToldShares],
    doubt: str,
) -> tuple[dict[str, int], str]:
    """Return provider uuid → amount of one class, and who says so; nothing: wherever is room."""
    able = {one.uuid: one.name for one in providers if name in one.inventories}
    for teller in told:
        found = teller.of(name)
        if not found:
            continue
        if sum(found.values()) != resources[name]:
            raise _unknown(
                instance,
                name,
                f"{teller.by} says that it has {sum(found.values())}, its flavor asks for "
                f"{resources[name]}",
            )
        if strange := sorted(found.keys() - able.keys()):
            raise _unknown(
                instance, name, f"{teller.by} names {', '.join(strange)}, which has no {name}"
            )
        return found, f"{teller.by} says so"
    if name in _OF_CELLS and (gone := [one for teller in told for one in teller.missing]):
        raise _unknown(instance, name, f"its record names {', '.join(gone)}, which isn't there")
    if name == "DISK_GB" or (stays_together(name) and not _is_confined(instance)):
        return {}, ROOM
    if len(able) > 1:
        where = ", ".join(sorted(able.values()))
        raise _unknown(instance, name, f"{where} have some, and {doubt}")
    if not able and name == VGPU:
        raise _unknown(instance, name, "no provider of its node has any")
    return {}, ONLY


def _is_confined(instance: Instance) -> bool:
    """Say whether the instance runs on certain NUMA cells, and not wherever there is room."""
    return not _CONFINING.isdisjoint(instance.flavor.extra_specs)


def _held_by_others(providers: Sequence[ProviderDetails], consumer: str) -> dict[str, Any]:
    """Return consumer → allocations of the providers, without those of `consumer`."""
    found: dict[str, Any] = {}
    for provider in providers:
        for holder, held in provider.holders.items():
            if holder != consumer:
                body = found.setdefault(holder, {"allocations": {}})
                body["allocations"][provider.uuid] = {"resources": dict(held)}
    return found
