"""Taking a driver's provider out of the tree once the device behind it is gone."""

import logging
from typing import TYPE_CHECKING

from compute.provider_tree.allocation_records import Allocations

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree

LOG = logging.getLogger(__name__)


def remove_provider(
    tree: "ProviderTree", name_or_uuid: str, allocations: Allocations | None = None
) -> None:
    """Remove a provider, or only empty it if other services have providers below it.

    :param allocations: those of the present reshape. A provider that one of them names stays as it
        is: a reshape is one transaction, which would fail if it deleted the provider. Later updates
        remove it, once its guests are gone (compute.md §6.8).
    """
    provider = tree.data(name_or_uuid)
    holders = sorted(
        consumer
        for consumer, body in (allocations or {}).items()
        if provider.uuid in body["allocations"]
    )
    if holders:
        LOG.warning(
            "Resource provider %s is of a device that is gone, but held by %s",
            provider.name,
            ", ".join(holders),
        )
    elif tree.get_provider_uuids(provider.uuid) == [provider.uuid]:
        tree.remove(provider.uuid)
    else:
        LOG.warning("Keeping resource provider %s, empty: it has children not ours", provider.name)
        tree.update_inventory(provider.uuid, {})


def remove_gone(
    tree: "ProviderTree", name_or_uuid: str, allocations: Allocations | None = None
) -> None:
    """Remove the provider of a device that may come back, unless all of it is reserved.

    An operator fenced it off then. Placement is the only place that knows, and the device shall not
    be offered when it is back. Nothing of it can be had meanwhile; an update removes it once its
    `reserved` is lower.
    """
    provider = tree.data(name_or_uuid)
    records = provider.inventory.values()
    if records and all(one.get("reserved", 0) >= one["total"] for one in records):
        LOG.debug("Keeping resource provider %s: its device is gone, but fenced", provider.name)
        return
    remove_provider(tree, provider.uuid, allocations)
