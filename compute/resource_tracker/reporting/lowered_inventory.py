"""Warnings of inventories that an update lowers below what is used of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import os_traits
from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.provider_tree.inventory_record import capacity
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext

LOG = logging.getLogger(__name__)

#: (provider uuid, class) → how much may be used
Capacities = Mapping[tuple[str, str], int]


def capacities(tree: ProviderTree) -> Capacities:
    """Return the capacities of a tree, except those of devices for one use.

    Those are reserved as soon as they are used, so they would always be over capacity.
    """
    return {
        (uuid, name): capacity(record)
        for uuid in tree.get_provider_uuids()
        if os_traits.HW_PCI_ONE_TIME_USE not in (data := tree.data(uuid)).traits
        for name, record in data.inventory.items()
    }


def warn_of_excess(
    reportclient: SchedulerReportClient,
    context: RequestContext,
    root: str,
    before: Capacities,
    tree: ProviderTree,
) -> None:
    """Warn of the inventories that `tree`, which is written by now, lowered below their use.

    Placement accepts such an inventory, and consumers keep what they hold. An update that lowers
    nothing sends no request, so the warning comes once. What can't be read is left out.

    :param root: the name of the node
    """
    after = capacities(tree)
    lowered = {key for key, amount in after.items() if amount < before.get(key, 0)}
    for uuid in sorted({uuid for uuid, _ in lowered}):
        try:
            used = reportclient.get_usages_for_resource_provider(context, uuid)
        except (exceptions.NovaException, ClientException) as error:
            LOG.debug("Whether %s is over capacity isn't known: %s", uuid, error)
            continue
        for name in sorted(name for of, name in lowered if of == uuid):
            if used.get(name, 0) > after[uuid, name]:
                LOG.warning(
                    "%s of provider %s (%s) was lowered to %d, but %d is used: nothing new fits "
                    "until less is. nova-manage placement drain --host %s --plan --over-capacity "
                    "tells which moves mend it.",
                    name,
                    tree.data(uuid).name,
                    uuid,
                    after[uuid, name],
                    used[name],
                    root,
                )
