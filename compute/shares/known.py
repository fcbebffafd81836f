"""What the record of an instance says of its place: its cells, devices and named resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compute.consumers.held_shares import Share
from compute.pci.devices import FUNCTIONS
from compute.pci.tags import MANAGED, class_of
from compute.provider_tree.allocation_records import Amounts, Held
from compute.provider_tree.cells import cell_name
from compute.provider_tree.names import child_name
from compute.shares.giver import Giver

DRIVER, RECORD = "its driver", "its record"


@dataclass(frozen=True)
class ToldShares:
    """What DRIVER or RECORD, in `by`, says of an instance: provider uuid → class → amount.

    `missing` has the names of providers that the instance should be on, and that the tree lacks.
    """

    by: str
    places: Held = field(default_factory=dict)
    missing: Sequence[str] = ()

    def of(self, resource_class: str) -> dict[str, int]:
        """Return provider uuid → amount."""
        return {
            uuid: amounts[resource_class]
            for uuid, amounts in self.places.items()
            if amounts.get(resource_class)
        }


def recorded(
    share: Share | None, nodename: str, givers: Sequence[Giver], resources: Amounts
) -> ToldShares:
    """Return what the instance's record says.

    :param resources: class → how much it should have. All of its processors and memory are on its
        cell if it has but one
    """
    if share is None:
        return ToldShares(RECORD)
    names = {one.name: one for one in givers}
    places: dict[str, Counter[str]] = {}
    missing: list[str] = []
    cells = list((share.numa_topology or {}).get("cells", ()))
    for one in cells:
        name = cell_name(nodename, one.get("id"))
        if name not in names:
            missing.append(name)
            continue
        amounts = places.setdefault(names[name].uuid, Counter())
        amounts.update(_of_cell(one, resources, alone=len(cells) == 1))
    for resource in share.resources:
        amounts = places.setdefault(resource.provider_uuid, Counter())
        amounts[resource.resource_class] += 1
    for uuid, found in devices(share, nodename, givers).items():
        places.setdefault(uuid, Counter()).update(found)
    return ToldShares(RECORD, {uuid: dict(amounts) for uuid, amounts in places.items()}, missing)


def devices(share: Share | None, nodename: str, givers: Sequence[Giver]) -> Held:
    """Return provider → class → how many of its PCI devices the record says the instance has.

    Only devices that the compute service reports on providers of their own count.
    """
    providers = {one.name: one for one in givers if MANAGED in one.traits}
    found: dict[str, Counter[str]] = {}
    for device in () if share is None else share.pci_devices:
        provider = providers.get(_provider_name(device, nodename))
        if provider is None:
            continue
        names = list(provider.inventories)
        # An operator may have added others.
        name = names[0] if len(names) == 1 else class_of(device)
        if name in names:
            found.setdefault(provider.uuid, Counter())[name] += 1
    return {uuid: dict(amounts) for uuid, amounts in found.items()}


def _of_cell(cell: Mapping[str, Any], resources: Amounts, alone: bool) -> dict[str, int]:
    processors = [name for name in ("VCPU", "PCPU") if name in resources]
    if alone:
        return {name: resources[name] for name in (*processors, "MEMORY_MB") if name in resources}
    # Which processors of a cell are the guest's own isn't recorded.
    of_cell = {processors[0]: cell["vcpus"]} if len(processors) == 1 else {}
    return of_cell | {"MEMORY_MB": cell["memory_mb"]}


def _provider_name(device: Mapping[str, object], nodename: str) -> str:
    parent = device.get("parent_addr") if device.get("dev_type") in FUNCTIONS else None
    return child_name(nodename, str(parent or device["address"]).upper())
