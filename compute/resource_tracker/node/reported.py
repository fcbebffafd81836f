"""What the last update of a node reported to placement, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from compute.resource_tracker.node.node import TrackedNode


@dataclass(frozen=True)
class Reported:
    """The providers of a node: the root and those below it.

    `totals` is resource class → the sum over the providers; `inventories`, `traits` and
    `aggregates` are counted once for each provider that has them. `changed` says whether the update
    had to write anything of this, `reshaped` whether it moved inventory and allocations.
    """

    name: str
    uuid: str
    providers: int
    inventories: int
    totals: Mapping[str, int]
    traits: int
    aggregates: int
    changed: bool
    reshaped: bool = False


def reported(node: TrackedNode) -> Reported | None:
    """Return what was reported of the node; None if nothing was."""
    tree = node.tree
    if tree is None or not tree.exists(node.uuid):
        return None
    providers = [tree.data(uuid) for uuid in tree.get_provider_uuids_in_tree(node.uuid)]
    totals: Counter[str] = Counter()
    for provider in providers:
        for name, record in provider.inventory.items():
            totals[name] += record["total"]
    return Reported(
        name=node.name,
        uuid=node.uuid,
        providers=len(providers),
        inventories=sum(len(provider.inventory) for provider in providers),
        totals=totals,
        traits=sum(len(provider.traits) for provider in providers),
        aggregates=sum(len(provider.aggregates) for provider in providers),
        changed=node.changed,
        reshaped=node.reshaped,
    )
