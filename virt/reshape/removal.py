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
