"""Moving inventory and its allocations in one atomic `POST /reshaper` (compute.md §3.9.3)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import os_traits

from compute import exceptions
from compute.provider_tree import ProviderData, ProviderSubTree, ProviderTree
from compute.report.properties import Properties
from compute.report.transport import (
    CONCURRENT_UPDATE,
    error_code,
    global_id,
    never_sent,
    reached,
)

LOG = logging.getLogger(__name__)

SHARES = os_traits.MISC_SHARES_VIA_AGGREGATE

# Said by a service that knows it. A proxy that gave up waiting doesn't.
NOT_DONE = "Nothing was changed."

RESHAPER_VERSION = "1.30"

Inventories = dict[str, dict[str, Any]]


def wanted_data(known: ProviderTree, wanted: ProviderTree, uuid: str) -> ProviderData:
    """What `wanted` says of a provider, beside what placement has of it if that isn't in it.

    A provider without a generation was made by the editor of `wanted`, who saw nothing of it. If it
    is known, it keeps its traits and aggregates, and its inventory unless it is given one.
    """
    wants = wanted.data(uuid)
    if wants.generation is not None or not known.exists(uuid):
        return wants
    has = known.data(uuid)
    return wants._replace(
        inventory=wants.inventory or has.inventory,
        traits=wants.traits | has.traits,
        aggregates=wants.aggregates | has.aggregates,
    )


def reshape_inventories(
    known: ProviderTree, wanted: ProviderTree, removed: Iterable[str]
) -> Inventories:
    """The `inventories` of the request: providers of `wanted`, at the generation they have there.

    Unchanged ones are listed too, but for sharing providers: these change with every allocation of
    every host that uses them, and a reshape that names them loses against all of these. Who gets
    something of one is checked against its capacity all the same. Those that will be deleted
    afterwards, if they are still there, are emptied by the same transaction, so that nothing can be
    placed on them in between.
    """
    inventories = {}
    for uuid in wanted.get_provider_uuids():
        wants = wanted_data(known, wanted, uuid)
        if _is_only_shared(known, wanted, wants):
            continue
        inventories[uuid] = _record(wants.inventory, wants.generation)
    for uuid in removed:
        if known.exists(uuid):
            inventories[uuid] = _record({}, known.data(uuid).generation)
    return inventories


def _is_only_shared(known: ProviderTree, wanted: ProviderTree, wants: ProviderData) -> bool:
    """Whether it is a sharing provider beside the node's own tree, with the inventory it has."""
    uuid = wants.uuid
    own_root = wanted.scope_rp_uuid if isinstance(wanted, ProviderSubTree) else None
    return (
        wanted.get_provider_uuids_in_tree(uuid) == [uuid]
        and uuid != own_root
        and known.exists(uuid)
        and SHARES in wants.traits & known.data(uuid).traits
        and not known.has_inventory_changed(uuid, wants.inventory)
    )


def _record(inventory: Mapping[str, Any], generation: int | None) -> dict[str, Any]:
    return {"inventories": inventory, "resource_provider_generation": generation}


def reshape(
    client: Properties, context: Any, inventories: Inventories, allocations: Mapping[str, Any]
) -> None:
    """Have placement store all of `inventories` and `allocations` at once.

    Raises PlacementReshapeConflict if a provider or consumer changed since it was read: everything
    cached is forgotten then, and the caller may start over. Raises ReshapeUnanswered if it was sent
    and may have been carried out, and ReshapeFailed for all else, an unreachable placement
    included; the cache is left as it is.
    """
    try:
        classes = {name for record in inventories.values() for name in record["inventories"]}
        reached(client._ensure_resource_classes(context, classes))
    except Exception as failure:
        LOG.exception("Failed to reshape.")
        raise exceptions.ReshapeFailed(error=failure) from failure
    try:
        response = client.post(
            "/reshaper",
            {"inventories": inventories, "allocations": allocations},
            version=RESHAPER_VERSION,
            global_request_id=global_id(context),
        )
    except Exception as failure:
        LOG.exception("Failed to reshape.")
        kind = exceptions.ReshapeFailed if never_sent(failure) else exceptions.ReshapeUnanswered
        raise kind(error=failure) from failure
    if response:
        LOG.info("Reshaped %s.", ", ".join(inventories))
        return
    if response.status_code == 409 and error_code(response) == CONCURRENT_UPDATE:
        LOG.info("Another writer was quicker than the reshape: %s", response.text)
        client.forget_after_conflict()
        raise exceptions.PlacementReshapeConflict(error=response.text)
    LOG.error("Failed to reshape: %s %s", response.status_code, response.text)
    if response.status_code >= 500 and NOT_DONE not in response.text:
        raise exceptions.ReshapeUnanswered(error=f"{response.status_code} {response.text}")
    raise exceptions.ReshapeFailed(error=response.text)
