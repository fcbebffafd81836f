"""Snapshots of a tree: how two differ, and whether Placement would accept one."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import os_traits

from compute.provider_tree import ProviderTree
from virt.inventory import CUSTOM_NAME, is_resource_class

_WHOLE_NUMBERS = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1}
_FROM_CONFIGURATION = ("VCPU", "MEMORY_MB", "DISK_GB")


@dataclass(frozen=True)
class ProviderSnapshot:
    """One provider, without its generation; `uuid` is left out of comparisons if that is asked."""

    name: str
    uuid: str | None
    parent: str | None
    inventory: Mapping[str, Mapping[str, Any]]
    traits: frozenset[str]
    aggregates: frozenset[str]
    resources: Mapping[str, Any] = field(default_factory=dict)


#: Name → provider.
Snapshot = dict[str, ProviderSnapshot]


def taken(tree: ProviderTree, names: Collection[str] | None = None, uuids: bool = True) -> Snapshot:
    """Return what the tree shows now, of all providers or of those called `names`."""
    found = [tree.data(uuid) for uuid in tree.get_provider_uuids()]
    name_of = {one.uuid: one.name for one in found}
    return {
        one.name: ProviderSnapshot(
            name=one.name,
            uuid=one.uuid if uuids else None,
            parent=name_of[one.parent_uuid] if one.parent_uuid else None,
            inventory=one.inventory,
            traits=frozenset(one.traits),
            aggregates=frozenset(one.aggregates),
            resources=one.resources,
        )
        for one in found
        if names is None or one.name in names
    }


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """Return what changed, a line each."""
    lines = [f"provider {name} was removed" for name in before if name not in after]
    lines += [f"provider {name} was added" for name in after if name not in before]
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        if old.uuid != new.uuid:
            lines.append(f"provider {name} has another uuid")
        if old.parent != new.parent:
            lines.append(f"provider {name} moved from below {old.parent} to below {new.parent}")
        lines += [
            f"{what} of provider {name} changed from {_shown(a)} to {_shown(b)}"
            for what, a, b in (
                ("inventory", old.inventory, new.inventory),
                ("traits", old.traits, new.traits),
                ("aggregates", old.aggregates, new.aggregates),
                ("resources", old.resources, new.resources),
            )
            if a != b
        ]
    return sorted(lines)


def faults(
    tree: ProviderTree, foreign: Collection[str], ratios_expected: bool = True
) -> Iterator[str]:
    """Yield what Placement, or the contract, forbids in the driver's part of the tree.

    A driver that implements update_provider_tree must say ratios and reserved amounts of VCPU,
    MEMORY_MB and DISK_GB; that is `ratios_expected`.
    """
    names = [tree.data(uuid).name for uuid in tree.get_provider_uuids()]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"several providers are called {name}"
    for name, one in taken(tree).items():
        if name in foreign:
            continue
        for trait in sorted(one.traits):
            if trait not in os_traits.get_traits() and not CUSTOM_NAME.fullmatch(trait):
                yield f"trait {trait} of provider {name} is neither a standard nor a custom one"
        for resource_class, record in one.inventory.items():
            for fault in _record_faults(resource_class, record, ratios_expected):
                yield f"{resource_class} of provider {name} {fault}"


def _record_faults(
    resource_class: str, record: Mapping[str, Any], ratios_expected: bool
) -> Iterator[str]:
    if not is_resource_class(resource_class):
        yield "is neither a standard nor a custom resource class"
    for key, least in _WHOLE_NUMBERS.items():
        value = record.get(key, least)
        if key == "total" and record.get("total") == 0:
            yield "has a total of 0: leave the class out of the inventory"
        elif not isinstance(value, int) or value < least:
            yield f"has {key} {value!r}, which is no whole number of {least} or more"
        elif key == "reserved" and value > record.get("total", 0):
            yield f"keeps {value} for the host, of a total of {record.get('total')}"
    if "total" not in record:
        yield "has no total"
    ratio = record.get("allocation_ratio", 1.0)
    if not isinstance(ratio, int | float) or not math.isfinite(ratio) or ratio <= 0:
        yield f"has the allocation ratio {ratio!r}"
    if ratios_expected and resource_class in _FROM_CONFIGURATION:
        for key in ("allocation_ratio", "reserved"):
            if key not in record:
                yield f"has no {key}: it follows from the configuration"


def _shown(value: object) -> str:
    return str(sorted(value)) if isinstance(value, frozenset) else str(value)
