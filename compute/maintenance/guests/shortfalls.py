"""Which instances hold less of their node than their flavors ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute import exceptions
from compute.maintenance.guests.shares import (
    givers,
    holding_of,
    node_uuid,
    own_share,
    requested,
    with_devices,
)
from compute.maintenance.provider_details import ProviderDetails, read_sharing, read_tree
from compute.provider_tree.allocation_records import Amounts, ProviderAmounts
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.shares.known import devices
from compute.shares.lacking import lacking

#: of how many nodes the providers are remembered
_MOST_NODES = 100


class Shortfalls:
    """Judges instances one by one. It reads the providers of each node once, and its pools."""

    def __init__(
        self, client: SchedulerReportClient, context: RequestContext, cell: CellDatabase
    ) -> None:
        self._client = client
        self._context = context
        self._cell = cell
        self._trees: dict[str, list[ProviderDetails]] = {}
        self._pools: dict[str, list[ProviderDetails]] = {}

    def of(self, instance: Instance, allocations: Mapping[str, Any]) -> Amounts:
        """Return class → how much the instance lacks of its node.

        Nothing if it moves, or if its node has no record or provider: then that isn't settled.

        Raises what reading a tree raises.
        """
        holding = holding_of(self._cell, instance)
        if holding.moves:
            return {}
        try:
            root = node_uuid(self._cell, instance)
            tree = self._tree(root)
        except (exceptions.ComputeHostNotFound, exceptions.ResourceProviderNotFound):
            return {}
        share = own_share(holding)
        among = givers(tree, instance.uuid)
        held: ProviderAmounts = {uuid: part["resources"] for uuid, part in allocations.items()}
        request = with_devices(
            requested(instance, tree, held), devices(share, instance.node or "", among)
        )
        missing = lacking([request], among, held)
        pooled = held.keys() - {one.uuid for one in tree}
        if pooled and not missing.keys().isdisjoint(name for uuid in pooled for name in held[uuid]):
            pools = givers(self._pools_of(root, tree), instance.uuid, shares=True)
            missing = lacking([request], [*among, *pools], held)
        return missing

    def forget(self) -> None:
        """Read providers anew from now on."""
        self._trees.clear()
        self._pools.clear()

    def _tree(self, root: str) -> list[ProviderDetails]:
        if root not in self._trees:
            if len(self._trees) >= _MOST_NODES:
                self.forget()
            self._trees[root] = read_tree(self._client, self._context, root)
        return self._trees[root]

    def _pools_of(self, root: str, tree: list[ProviderDetails]) -> list[ProviderDetails]:
        if root not in self._pools:
            self._pools[root] = read_sharing(self._client, self._context, *tree)
        return self._pools[root]
