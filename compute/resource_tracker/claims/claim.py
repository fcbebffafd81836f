"""Claims: an instance's share of a node, held while it is built or moved (compute.md §4.11).

A claim is a context manager: an exception that leaves the block gives the share back.
Processors, memory and disk aren't tested here: placement does that, when the scheduler or the
tracker writes the allocations.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from compute import exceptions
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor, Instance
from compute.records.migration import Migration
from compute.report.wire.context import RequestContext
from compute.resource_tracker.claims import numa_fit

LOG = logging.getLogger(__name__)


class ClaimKeeper(Protocol):
    """The methods of the resource tracker that take a claim's share back."""

    def abort_instance_claim(
        self, context: RequestContext, instance: Instance, nodename: str
    ) -> None:
        """Give back what the instance holds of the node."""

    def drop_move_claim(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        flavor: Flavor | None = None,
        prefix: str = "new_",
    ) -> None:
        """Give back what a move holds of the node."""


@dataclass(frozen=True)
class ClaimRoom:
    """What a claim is tested against.

    :param placed_topologies: the NUMA topologies of the instances on the node, with the host cell
        of each instance cell
    :param pci_problem: why the instance can't have its devices, if it can't
    :param cells: the host cells that are allocated, or near the instance's devices; None: any
    """

    placed_topologies: list[dict[str, Any]] = field(default_factory=list)
    pci_problem: str | None = None
    cells: Collection[int] | None = None


def cell_ratios(node: ComputeNode, limits: Mapping[str, Any] | None) -> tuple[float, float]:
    """Return by how much processors and memory of NUMA cells may be overcommitted.

    :param limits: `cpu_allocation_ratio` and `ram_allocation_ratio`, or both in `numa_topology`, a
        dict or an object, as nova sends them. They come before those of the record
    """
    given = limits or {}
    numa = given.get("numa_topology")

    def ratio(name: str) -> float:
        of_cells = numa.get(name) if isinstance(numa, Mapping) else getattr(numa, name, None)
        found: float = given.get(name) or of_cells or getattr(node, name) or 1.0
        return found

    return ratio("cpu_allocation_ratio"), ratio("ram_allocation_ratio")


class NopClaim:
    """Claims nothing: for an instance that needs no share."""

    def __init__(self, migration: Migration | None = None) -> None:
        self.migration = migration
        self.claimed_numa_topology: dict[str, Any] | None = None

    def __enter__(self) -> NopClaim:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if error is not None:
            self.abort()

    def abort(self) -> None:
        """Give back what was claimed."""


class Claim(NopClaim):
    """A new instance's share.

    :param tracker: the resource tracker that makes the claim
    :param pci_requests: the devices that the instance requests
    :param limits: see `cell_ratios`
    :param room: what the claim is tested against; None: an empty node

    Raises ComputeResourcesUnavailable if it doesn't fit; all reasons are in the message.
    """

    def __init__(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        tracker: ClaimKeeper,
        compute_node: ComputeNode,
        pci_requests: Sequence[Mapping[str, object]],
        migration: Migration | None = None,
        limits: Mapping[str, object] | None = None,
        *,
        room: ClaimRoom | None = None,
    ) -> None:
        super().__init__(migration)
        self.context = context
        self.instance = instance
        self.nodename = nodename
        self.tracker = tracker
        room = ClaimRoom() if room is None else room
        reasons = [
            reason
            for reason in (
                self._test_numa(compute_node, room, limits),
                room.pci_problem,
            )
            if reason
        ]
        if reasons:
            raise exceptions.ComputeResourcesUnavailable(reason="; ".join(reasons))

    def _test_numa(
        self, node: ComputeNode, room: ClaimRoom, limits: Mapping[str, object] | None
    ) -> str | None:
        """Place the instance's cells; return why that can't be done."""
        wanted = self.instance.numa_topology
        if not wanted:
            return None
        self.claimed_numa_topology = numa_fit.fit(
            node.numa_topology,
            room.placed_topologies,
            wanted,
            *cell_ratios(node, limits),
            within=room.cells,
        )
        if self.claimed_numa_topology is None:
            problem = "Requested instance NUMA topology cannot fit the given host NUMA topology"
            if room.cells is None:
                return problem
            return f"{problem} within its cells {', '.join(map(str, sorted(room.cells)))}"
        return None

    def abort(self) -> None:
        """Give the instance's share back; the instance is on no host any more."""
        LOG.debug("Aborting claim of instance %s on %s", self.instance.uuid, self.nodename)
        self.tracker.abort_instance_claim(self.context, self.instance, self.nodename)


class MoveClaim(Claim):
    """The share of an instance that comes from another node, or is resized here.

    :param flavor: the flavor that the instance will have
    :param image_meta: has no effect: the instance's topology and requests follow from it already
    """

    def __init__(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        flavor: Flavor,
        image_meta: object,
        tracker: ClaimKeeper,
        compute_node: ComputeNode,
        pci_requests: Sequence[Mapping[str, object]],
        migration: Migration,
        limits: Mapping[str, object] | None = None,
        *,
        room: ClaimRoom | None = None,
    ) -> None:
        self.flavor = flavor
        super().__init__(
            context,
            instance,
            nodename,
            tracker,
            compute_node,
            pci_requests,
            migration,
            limits,
            room=room,
        )

    def abort(self) -> None:
        """Give back what the move holds here; what the instance has at its source stays."""
        LOG.debug("Aborting move of instance %s to %s", self.instance.uuid, self.nodename)
        self.tracker.drop_move_claim(self.context, self.instance, self.nodename, flavor=self.flavor)
