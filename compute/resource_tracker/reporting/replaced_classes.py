"""Refusing to give a provider another class while consumers hold the one that it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.reporting.lowered_inventory import Capacities

#: how many holders a message names
_NAMED = 5


def refuse_replaced(
    reportclient: SchedulerReportClient,
    context: RequestContext,
    before: Capacities,
    tree: ProviderTree,
    moved: Mapping[str, object] | None,
) -> None:
    """Raise InventoryInUse if `tree` replaces a class of which something is allocated.

    Placement would refuse it, too, after other providers were written, and tell no holders. A
    request is sent only for a provider that loses one class and gains another.

    Raises ReshapeFailed instead if allocations are moved with the tree.

    :param before: what placement has
    :param moved: consumer → its allocations, as they are written with the tree; None: none are
    """
    former: dict[str, set[str]] = {}
    for uuid, name in before:
        former.setdefault(uuid, set()).add(name)
    for uuid in filter(tree.exists, former):
        now = tree.data(uuid).inventory.keys()
        gone, new = former[uuid] - now, now - former[uuid]
        if not (gone and new):
            continue
        found = reportclient.get_allocations_for_resource_provider(context, uuid).allocations
        for name in sorted(gone):
            holders = sorted(
                consumer
                for consumer, held in found.items()
                if name in _kept(consumer, uuid, held, moved or {})
            )
            if holders:
                # as after any other refusal: the next update reads the tree afresh
                reportclient.invalidate_resource_provider(tree.get_provider_uuids_in_tree(uuid)[0])
                text = _text(tree, uuid, name, new, holders)
                if moved is not None:
                    raise exceptions.ReshapeFailed(error=text)
                raise exceptions.InventoryInUse(text)


def _kept(
    consumer: str, uuid: str, held: Mapping[str, Any], moved: Mapping[str, Any]
) -> Mapping[str, int]:
    """Return what the consumer holds of the provider after the write."""
    if consumer in moved:
        held = moved[consumer]["allocations"].get(uuid, {})
    return held.get("resources", {})


def _text(tree: ProviderTree, uuid: str, name: str, new: set[str], holders: list[str]) -> str:
    more = len(holders) - _NAMED
    named = ", ".join(holders[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return (
        f"Provider {tree.data(uuid).name} ({uuid}) should have {', '.join(sorted(new))} instead of "
        f"{name}, but {name} of it is held by {named}. Configure {name} again (for virtual GPUs: "
        "[mdev_<type>]mdev_class, or [berth]mdev_classes) until they have moved away or are "
        "deleted. Nothing was changed in placement."
    )
