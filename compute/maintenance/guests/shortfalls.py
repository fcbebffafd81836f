"""Which instances hold less or more of their node than their flavors ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compute import exceptions
from compute.maintenance.guests.node_trees import NodeTrees
from compute.maintenance.guests.shares import (
    givers,
    holding_of,
    node_uuid,
    own_share,
    requested,
    with_devices,
)
from compute.provider_tree.allocation_records import Amounts, ProviderAmounts
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.shares.known import devices
from compute.shares.lacking import SHARES, lacking, surplus


@dataclass(frozen=True)
class Misfit:
    """Class → how much an instance lacks of its node, and how much more it holds than it should."""

    lacking: Amounts = field(default_factory=dict)
    surplus: Amounts = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.lacking or self.surplus)


class Shortfalls:
    """Judges instances one by one."""

    def __init__(self, trees: NodeTrees, cell: CellDatabase) -> None:
        self._trees = trees
        self._cell = cell

    def of(self, instance: Instance, allocations: Mapping[str, Any]) -> Misfit:
        """Return what the instance holds too little or too much.

        Nothing if it moves, or if its node has no record or provider: then that isn't settled.

        Raises what reading a tree raises.
        """
        holding = holding_of(self._cell, instance)
        if holding.moves:
            return Misfit()
        try:
            tree = self._trees.of(node_uuid(self._cell, instance))
        except (exceptions.ComputeHostNotFound, exceptions.ResourceProviderNotFound):
            return Misfit()
        share = own_share(holding)
        among = givers(tree, instance.uuid)
        held: ProviderAmounts = {uuid: part["resources"] for uuid, part in allocations.items()}
        request = with_devices(
            requested(instance, tree, held), devices(share, instance.node or "", among)
        )
        missing = lacking([request], among, held)
        own = {one.uuid for one in tree}
        pooled = {name for uuid in held.keys() - own for name in held[uuid]}
        twice = {name for uuid in held.keys() & own for name in held[uuid]} & pooled
        if pooled & missing.keys() or twice:
            among += givers(self._trees.sharing_with(*tree), instance.uuid, shares=True)
            missing = lacking([request], among, held)
        return Misfit(missing, surplus([request], among, held, SHARES))
