"""Claims: an instance's share of a node, held while it is built or moved (compute.md §4.11).

A claim is a context manager: what leaves the block with an exception gives the share back.
Processors, memory and disk aren't tested here: placement holds them already, or, where the tracker
writes allocations, refuses them when it does.
"""

import logging
from types import TracebackType
from typing import Any, Protocol

from compute import exceptions
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor, Instance
from compute.records.migration import Migration
from compute.resource_tracker import numa_fit

LOG = logging.getLogger(__name__)


class ClaimKeeper(Protocol):
    """What a claim needs of the tracker that made it."""

    def abort_instance_claim(self, context: Any, instance: Instance, nodename: str) -> None:
        """Give back what the instance holds of the node."""

    def drop_move_claim(
        self,
        context: Any,
        instance: Instance,
        nodename: str,
        flavor: Flavor | None = None,
        prefix: str = "new_",
    ) -> None:
        """Give back what a move holds of the node."""


class NopClaim:
    """Claims nothing: for what needs no share, but a claim."""

    def __init__(self, migration: Migration | None = None) -> None:
        self.migration = migration
        self.claimed_numa_topology: dict[str, Any] | None = None

    def __enter__(self) -> "NopClaim":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self.abort()

    def abort(self) -> None:
        """Give back what was claimed."""


class Claim(NopClaim):
    """A new instance's share.

    :param taken: the placed NUMA topologies of the instances that are there
    :param pci_available: whether the node has the devices the instance asks for
    :raises ComputeResourcesUnavailable: it doesn't fit; all reasons are in the message
    """

    def __init__(
        self,
        context: Any,
        instance: Instance,
        nodename: str,
        tracker: ClaimKeeper,
        node: ComputeNode,
        taken: list[dict[str, Any]],
        pci_available: bool,
        limits: dict[str, Any] | None = None,
        migration: Migration | None = None,
    ) -> None:
        super().__init__(migration)
        self.context = context
        self.instance = instance
        self.nodename = nodename
        self.tracker = tracker
        reasons = [
            reason
            for reason in (
                self._test_numa(node, taken, limits or {}),
                None if pci_available else "Claim pci failed",
            )
            if reason
        ]
        if reasons:
            raise exceptions.ComputeResourcesUnavailable(reason="; ".join(reasons))

    def _test_numa(
        self, node: ComputeNode, taken: list[dict[str, Any]], limits: dict[str, Any]
    ) -> str | None:
        """Place the instance's cells; return why that can't be done."""
        wanted = self.instance.numa_topology
        if not wanted:
            return None
        self.claimed_numa_topology = numa_fit.fit(
            node.numa_topology,
            taken,
            wanted,
            limits.get("cpu_allocation_ratio") or node.cpu_allocation_ratio or 1.0,
            limits.get("ram_allocation_ratio") or node.ram_allocation_ratio or 1.0,
        )
        if self.claimed_numa_topology is None:
            return "Requested instance NUMA topology cannot fit the given host NUMA topology"
        return None

    def abort(self) -> None:
        """Give the instance's share back; the instance is on no host any more."""
        LOG.debug("Aborting claim of instance %s on %s", self.instance.uuid, self.nodename)
        self.tracker.abort_instance_claim(self.context, self.instance, self.nodename)


class MoveClaim(Claim):
    """The share of an instance that comes from elsewhere, or is resized here."""

    #: what the instance will be there
    flavor: Flavor | None = None

    def abort(self) -> None:
        """Give back what the move holds here; what the instance has at its source stays."""
        LOG.debug("Aborting move of instance %s to %s", self.instance.uuid, self.nodename)
        self.tracker.drop_move_claim(self.context, self.instance, self.nodename, flavor=self.flavor)
