"""Choose the providers of a node's tree for an instance's resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compute import exceptions
from compute.maintenance.guests.shares import givers
from compute.maintenance.heal.guest_places import Knowing
from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree.allocation_records import Amounts, ProviderAmounts
from compute.provider_tree.cells import stays_together
from compute.records.instance import Instance
from compute.report.consumers.resource_request import ResourceRequest
from compute.requests.guest_request import amounts_of
from compute.requests.running import runs_on_cells
from compute.shares.giver import Giver
from compute.shares.known import ToldShares
from compute.shares.placing import places_of, possible_givers
from compute.shares.preferences import Preferences

#: provider uuid → `{"resources": {class: amount}}`
Places = dict[str, dict[str, Any]]

VGPU = "VGPU"
ROOT, ROOM, ONLY = "the root has the class", "there is room", "no other has the class"

#: what an instance has on NUMA cells
_OF_CELLS = ("VCPU", "PCPU", "MEMORY_MB")


@dataclass(frozen=True)
class PlacedShares:
    """The allocations to write, and class → why they are where they are.

    :param lacking: class → how much of what is asked no provider has room for
    :param why: why it lacks
    """

    allocations: Places
    reasons: Mapping[str, str]
    lacking: Amounts = field(default_factory=dict)
    why: str = ""


def place(
    instance: Instance,
    request: ResourceRequest,
    tree: Sequence[ProviderDetails],
    pools: Callable[[], Sequence[ProviderDetails]],
    knowing: Knowing,
    has: ProviderAmounts,
) -> PlacedShares:
    """Return the allocations of what is asked, by the one placement of shares.

    Classes of which the root has an inventory are allocated on the root. The others go where
    somebody says that the instance has them. If nobody does, they go where there is room; unless
    the flavor asks for cells, or several providers have a class that isn't of cells, nor disk.

    :param tree: the node's providers with their consumers, the root first
    :param pools: reads the providers that share with the node
    :param has: what the instance has in placement

    Raises HealPlaceUnknown if several providers may be meant, or the one that is meant isn't there;
    HealvGPUAllocationNotSupported if it is about VGPU.
    """
    root = tree[0]
    resources = amounts_of(request)
    elsewhere = set(resources) - set(root.inventories)
    reasons = dict.fromkeys(set(resources) - elsewhere, ROOT)
    among = givers(tree, instance.uuid)
    if elsewhere - {name for one in tree for name in one.inventories}:
        among += givers(pools(), instance.uuid, shares=True)
    told = knowing.told(resources) if elsewhere else []
    preferences = Preferences([one.places for one in told], has, runs=True)
    possible = possible_givers(request, among, preferences)
    for name in sorted(elsewhere):
        reasons[name] = _reason(instance, name, resources, possible[name], told, knowing.doubt)
    found = places_of(request, among, preferences)
    return PlacedShares(
        {uuid: {"resources": part} for uuid, part in found.places.items()},
        reasons,
        found.lacking,
        "; ".join(found.reasons),
    )


def _unknown(instance: Instance, resource_class: str, error: str) -> exceptions.NovaException:
    """Return the exception that says that nobody knows where the instance has the class."""
    uuid = instance.uuid
    failure = exceptions.HealPlaceUnknown(
        instance_uuid=uuid, resource_class=resource_class, error=error
    )
    if resource_class != VGPU:
        return failure
    return exceptions.HealvGPUAllocationNotSupported(failure.message, instance_uuid=uuid)


def _reason(
    instance: Instance,
    name: str,
    resources: Amounts,
    possible: Sequence[Giver],
    told: Sequence[ToldShares],
    doubt: str,
) -> str:
    """Return who says where the instance has a class, or why nobody needs to."""
    able = {one.uuid: one.name for one in possible}
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
        return f"{teller.by} says so"
    if name in _OF_CELLS and (gone := [one for teller in told for one in teller.missing]):
        raise _unknown(instance, name, f"its record names {', '.join(gone)}, which isn't there")
    if name == "DISK_GB" or (stays_together(name) and not runs_on_cells(instance.flavor)):
        return ROOM
    if len(able) > 1:
        where = ", ".join(sorted(able.values()))
        raise _unknown(instance, name, f"{where} have some, and {doubt}")
    if not able and name == VGPU:
        raise _unknown(instance, name, "no provider of its node has any")
    return ONLY
