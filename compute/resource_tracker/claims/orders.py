"""What a claim was ordered to take: the allocations of devices, named resources and host cells.

They are those that the caller gives, else those that placement has for the instance (compute.md
§4.11). A claim takes exactly what is behind the providers in them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from compute import exceptions
from compute.pci import placement_translator
from compute.pci.device_healing import DeviceProvider
from compute.provider_tree.cells import cell_name, stays_together
from compute.records.migration import Migration
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.node.node import TrackedNode


@dataclass(frozen=True)
class Orders:
    """What one consumer shall take of a node.

    :param consumer: who has it in placement: the instance, or its migration
    :param parts: provider uuid → class → amount, of devices and named resources
    :param anew: whether it shall be taken beside what the instance has of the node
    :param cells: the host cells whose processors or memory are allocated; None: any will do
    """

    consumer: str
    parts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    anew: bool = False
    cells: frozenset[int] | None = None


class OrderBook:
    """Finds the orders of claims."""

    def __init__(self, host: str, conf: cfg.ConfigOpts, reportclient: SchedulerReportClient):
        self._host = host
        self._conf = conf
        self._reportclient = reportclient

    def places(self, node: TrackedNode) -> dict[str, DeviceProvider]:
        """Return uuid → provider of the node's devices that are in placement."""
        if not self._conf.pci.report_in_placement or node.tree is None:
            return {}
        return placement_translator.places(node.tree, node.name, node.reported_devices())

    def of(
        self,
        context: RequestContext,
        consumer: str,
        node: TrackedNode,
        given: Mapping[str, object] | None,
        migration: Migration | None = None,
        anew: bool = False,
        with_named: bool = True,
        cells_wanted: int = 0,
    ) -> Orders:
        """Return the orders of a claim.

        :param given: the caller's allocations, provider uuid → `{"resources": {class: amount}}`. If
            they have none of devices, named resources and cells, placement is asked
        :param anew: whether the instance keeps what it has of the node already. What placement has
            for that isn't an order
        :param with_named: whether named resources are claimed, too
        :param cells_wanted: how many host cells are claimed. Allocations of fewer don't say which:
            one provider gives a class as a whole

        Raises ComputeResourcesUnavailable if placement can't be asked for them.
        """
        classes = self._classes(node, with_named)
        host_cells = _host_cells(node) if cells_wanted else {}

        def cells_of(allocations: Mapping[str, object]) -> frozenset[int] | None:
            found = _cells_of(host_cells, allocations)
            return found if len(found) >= max(cells_wanted, 1) else None

        ordered, cells = _within(classes, given or {}), cells_of(given or {})
        if (ordered or not classes) and (cells or not host_cells):
            return Orders(consumer, ordered, anew, cells)
        held = self._held(context, consumer)
        found = ordered or _within(classes, held)
        theirs: Mapping[str, Any] = {}
        if migration is not None and migration.id is not None:
            theirs = self._held(context, migration.uuid)
        moved = _within(classes, theirs)
        if cells is None and (theirs or not anew):
            # else nobody knows which of them are the old share's
            cells = cells_of(held)
        if ordered:
            return Orders(consumer, ordered, anew, cells)
        if migration is not None and theirs:
            comes = (migration.source_compute, migration.source_node) != (self._host, node.name)
            if comes and cells is None:
                cells = cells_of(theirs)
            if comes and moved and not found:
                return Orders(migration.uuid, moved, anew, cells)
        if anew:
            has = self._has(node, consumer)
            for uuid, part in moved.items():
                has[uuid] = has.get(uuid, Counter()) - Counter(part)
            found = {
                uuid: left
                for uuid, part in found.items()
                if (left := dict(Counter(part) - has.get(uuid, Counter())))
            }
        return Orders(consumer, found, anew, cells)

    def _classes(self, node: TrackedNode, with_named: bool) -> dict[str, set[str]]:
        """Return provider uuid → its classes that stand for devices or named resources."""
        if node.tree is None:
            return {}
        classes: dict[str, set[str]] = {}
        if self._conf.pci.report_in_placement:
            for uuid in placement_translator.managed(node.tree, node.name).values():
                classes[uuid] = set(node.tree.data(uuid).inventory)
            # An operator may have added others.
            classes |= {uuid: {one.resource_class} for uuid, one in self.places(node).items()}
        for uuid in node.tree.get_provider_uuids(node.uuid) if with_named else ():
            if named := node.tree.data(uuid).resources:
                classes.setdefault(uuid, set()).update(named)
        return classes

    def _held(self, context: RequestContext, consumer: str) -> dict[str, object]:
        try:
            body = self._reportclient.get_allocs_for_consumer(context, consumer)
        except (exceptions.ConsumerAllocationRetrievalFailed, ClientException) as failure:
            raise exceptions.ComputeResourcesUnavailable(
                reason=f"the allocations of {consumer} can't be read: {failure}"
            ) from failure
        found: dict[str, Any] = body["allocations"]
        return found

    def _has(self, node: TrackedNode, instance_uuid: str) -> dict[str, Counter[str]]:
        """Return provider uuid → class → how much of it the instance has or has claimed."""
        owners = node.device_owners()
        has: dict[str, Counter[str]] = {}
        for uuid, place in self.places(node).items():
            own = [one for one in place.addresses if owners.get(one) == instance_uuid]
            has[uuid] = Counter({place.resource_class: len(own)})
        held = node.holdings.get(instance_uuid)
        for share in held.shares if held is not None else ():
            for resource in share.resources:
                counts = has.setdefault(resource.provider_uuid, Counter())
                counts[resource.resource_class] += 1
        return has


def _within(
    classes: Mapping[str, set[str]], allocations: Mapping[str, Any]
) -> dict[str, dict[str, int]]:
    """Return of the allocations what has these classes of these providers."""
    parts = {
        uuid: {name: n for name, n in part["resources"].items() if name in classes[uuid]}
        for uuid, part in allocations.items()
        if uuid in classes
    }
    return {uuid: part for uuid, part in parts.items() if part}


def _host_cells(node: TrackedNode) -> dict[str, int]:
    """Return provider uuid → host cell, of the cells that have a provider of their own."""
    if node.tree is None or not node.record.numa_topology:
        return {}
    cells = [cell["id"] for cell in json.loads(node.record.numa_topology)["cells"]]
    names = {cell_name(node.name, cell): cell for cell in cells}
    return {
        node.tree.data(name).uuid: cell for name, cell in names.items() if node.tree.exists(name)
    }


def _cells_of(host_cells: Mapping[str, int], allocations: Mapping[str, Any]) -> frozenset[int]:
    """Return the cells that the allocations have processors or memory of."""
    return frozenset(
        host_cells[uuid]
        for uuid, part in allocations.items()
        if uuid in host_cells and any(map(stays_together, part["resources"]))
    )
