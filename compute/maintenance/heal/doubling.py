"""Instances that hold virtual GPUs more than once, after a reshape or a migration that went wrong.

An example is an instance with VGPU on the root and on the physical GPU below it, or on two physical
GPUs, whose flavor asks for one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compute.maintenance.heal.guest_places import Knowing
from compute.provider_tree.allocation_records import Amounts


@dataclass(frozen=True)
class Doubled:
    """More of a class than the flavor asks for, on the providers of one node.

    :param held: provider uuid → amount
    :param known: provider uuid → amount that the instance really has; empty if nobody knows
    :param reason: who says so, or why nobody knows
    """

    resource_class: str
    asked: int
    held: Mapping[str, int]
    known: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""

    @property
    def can_be_mended(self) -> bool:
        """Whether it is known which part is too much."""
        return bool(self.known)


def doubled(
    suspected: Amounts,
    allocations: Mapping[str, Any],
    names: Mapping[str, str],
    knowing: Knowing,
) -> list[Doubled]:
    """Return what of an instance's allocations is too much.

    :param suspected: class → how much the flavor asks for
    :param names: provider uuid → name, of the providers of the instance's node
    """
    found = []
    for name, asked in suspected.items():
        held = {
            uuid: part["resources"][name]
            for uuid, part in allocations.items()
            if uuid in names and part["resources"].get(name)
        }
        if sum(held.values()) > asked:
            found.append(_judged(name, asked, held, suspected, knowing))
    return found


def mended(allocations: Mapping[str, Any], doubles: Iterable[Doubled]) -> dict[str, object]:
    """Return the allocations without the parts that are known to be too much."""
    result = copy.deepcopy(dict(allocations))
    for one in doubles:
        if not one.can_be_mended:
            continue
        for uuid in one.held:
            resources = result[uuid]["resources"]
            resources.pop(one.resource_class)
            if uuid in one.known:
                resources[one.resource_class] = one.known[uuid]
    return {uuid: part for uuid, part in result.items() if part["resources"]}


def _judged(
    name: str, asked: int, held: Mapping[str, int], suspected: Amounts, knowing: Knowing
) -> Doubled:
    for teller in knowing.told(suspected):
        places = teller.of(name)
        if not places:
            continue
        if sum(places.values()) == asked and all(
            amount <= held.get(uuid, 0) for uuid, amount in places.items()
        ):
            return Doubled(name, asked, held, places, f"{teller.by} says so")
        return Doubled(name, asked, held, {}, f"{teller.by} says something else")
    return Doubled(name, asked, held, {}, knowing.doubt)
