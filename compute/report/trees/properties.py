"""Writing one provider's inventory, traits and aggregates (compute.md §3.7).

A method sends nothing where the cache says that placement has what is wanted. It keeps
placement's answer in the cache, together with the provider's new generation.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from requests import Response

from compute import exceptions
from compute.provider_tree import ProviderData
from compute.provider_tree.inventory_record import Inventory
from compute.report.trees.cache import ProviderCache
from compute.report.wire.context import Context
from compute.report.wire.failures import Refusal
from compute.report.wire.transport import (
    INVENTORY_IN_USE,
    Transport,
    error_code,
    error_detail,
    global_id,
)
from compute.report.wire.unreachable import reached

LOG = logging.getLogger(__name__)


class Properties:
    """Writing what a provider has.

    Every method raises keystoneauth1's ClientException if placement is unreachable.
    """

    def __init__(self, transport: Transport, cache: ProviderCache) -> None:
        self.transport = transport
        self._cache = cache

    # Inventory

    def ensure_resource_classes(self, context: Context, names: Iterable[str]) -> bool:
        """Create the custom classes among `names` that don't exist; standard ones always do.

        Return True when all exist. Raises InvalidResourceClass if placement refuses one.
        """
        for name in sorted(name for name in names if name.startswith("CUSTOM_")):
            response = self.transport.put(
                f"/resource_classes/{name}",
                None,
                version="1.7",
                global_request_id=global_id(context),
            )
            if not response:
                raise exceptions.InvalidResourceClass(resource_class=name) from Refusal(response)
        return True

    def set_inventory(
        self,
        context: Context,
        uuid: str,
        inventory: Inventory | None,
        generation: int | None = None,
    ) -> None:
        """Make `inventory` the provider's whole inventory; None or `{}` clears it.

        A `generation`, at which the caller read the provider, is sent instead of the cached one.
        Records may be partial: placement fills in its defaults. Placement refuses a total of 0, so
        leave such a class out.

        Raises ValueError if the provider isn't cached, InvalidResourceClass, InventoryInUse if
        consumers hold some of a class that would go, ResourceProviderUpdateConflict if the provider
        changed, ResourceProviderUpdateFailed for other refusals, and ClientException or
        PlacementAPIConnectFailure if placement is unreachable.
        """
        wanted = inventory or {}
        if not self._cache.tree.has_inventory_changed(uuid, wanted):
            return
        reached(self.transport, lambda: self.ensure_resource_classes(context, set(wanted)))
        if generation is None:
            generation = self._cache.tree.data(uuid).generation
        url = f"/resource_providers/{uuid}/inventories"
        response = self.transport.put(
            url,
            {"resource_provider_generation": generation, "inventories": wanted},
            version="1.26",
            global_request_id=global_id(context),
        )
        if response.status_code == 200:
            body = response.json()
            self._cache.tree.update_inventory(
                uuid, body["inventories"], generation=body["resource_provider_generation"]
            )
            return
        if response.status_code == 409 and error_code(response) == INVENTORY_IN_USE:
            raise exceptions.InventoryInUse(error_detail(response)) from Refusal(response)
        raise _refused(response, uuid, generation, url) from Refusal(response)

    # Traits

    def ensure_traits(self, context: Context, traits: Iterable[str]) -> bool:
        """Create the custom ones among `traits` that don't exist. Return True when all exist.

        Raises TraitRetrievalFailed if the existing traits can't be read, and TraitCreationFailed if
        placement refuses one, or if a name is neither in os-traits nor begins with CUSTOM_.
        """
        wanted = sorted(set(traits))
        if not wanted:
            return True
        response = self.transport.get(
            f"/traits?name=in:{','.join(wanted)}",
            version="1.6",
            global_request_id=global_id(context),
        )
        if response.status_code != 200:
            raise exceptions.TraitRetrievalFailed(error=response.text) from Refusal(response)
        existing = set(response.json()["traits"])
        for name in wanted:
            if name in existing:
                continue
            response = self.transport.put(
                f"/traits/{name}", None, version="1.6", global_request_id=global_id(context)
            )
            if not response:
                raise exceptions.TraitCreationFailed(name=name, error=response.text) from Refusal(
                    response
                )
        return True

    def set_traits(
        self, context: Context, uuid: str, traits: Iterable[str], generation: int | None = None
    ) -> bool:
        """Make `traits` the provider's whole set of traits, creating custom ones.

        With a `generation`, at which the caller read the traits, that generation is sent, and the
        cache is asked only if it has the same generation. Return True when placement has the
        traits.

        Raises ValueError for a provider that isn't cached (without `generation`),
        TraitRetrievalFailed, TraitCreationFailed, ResourceProviderUpdateConflict,
        ResourceProviderUpdateFailed.
        """
        wanted = set(traits)
        known = self._known(uuid, generation)
        if generation is None and known is None:
            raise ValueError(f"No such provider {uuid}")
        if known is not None and known.traits == wanted:
            return True
        sent = known.generation if known is not None else generation
        self.ensure_traits(context, wanted)
        url = f"/resource_providers/{uuid}/traits"
        # PUT an empty list rather than DELETE: only the answer to PUT has the new generation.
        response = self.transport.put(
            url,
            {"resource_provider_generation": sent, "traits": sorted(wanted)},
            version="1.6",
            global_request_id=global_id(context),
        )
        if response.status_code != 200:
            raise _refused(response, uuid, sent, url)
        if self._cache.tree.exists(uuid):
            body = response.json()
            self._cache.tree.update_traits(
                uuid, body["traits"], generation=body["resource_provider_generation"]
            )
        return True

    # Aggregates

    def set_aggregates(
        self,
        context: Context,
        uuid: str,
        aggregates: Iterable[str],
        use_cache: bool = True,
        generation: int | None = None,
    ) -> bool:
        """Make `aggregates` the provider's whole set of aggregates.

        Without a `generation` the cached one is sent; that needs `use_cache`. Without `use_cache`
        the provider need not be cached. Return True when placement has the aggregates.

        Raises ValueError for a generation or a provider that is needed and missing,
        ResourceProviderUpdateConflict – the provider and what is below it are no longer cached
        then – and ResourceProviderUpdateFailed.
        """
        wanted = set(aggregates)
        if generation is None:
            if not use_cache:
                raise ValueError("generation is required with use_cache=False")
            generation = self._cache.tree.data(uuid).generation
        known = self._known(uuid, generation)
        if known is not None and known.aggregates == wanted:
            return True
        url = f"/resource_providers/{uuid}/aggregates"
        response = self.transport.put(
            url,
            {"aggregates": sorted(wanted), "resource_provider_generation": generation},
            version="1.19",
            global_request_id=global_id(context),
        )
        if response.status_code == 409:
            self._cache.invalidate(uuid)
        if response.status_code != 200:
            raise _refused(response, uuid, generation, url) from Refusal(response)
        body = response.json()
        try:
            self._cache.tree.update_aggregates(
                uuid, body["aggregates"], generation=body["resource_provider_generation"]
            )
        except ValueError:
            if use_cache:
                raise
        return True

    def _known(self, uuid: str, generation: int | None) -> ProviderData | None:
        """Return the cached provider; None if there is none, or if its generation is another."""
        try:
            known = self._cache.tree.data(uuid)
        except ValueError:
            return None
        return known if generation in (None, known.generation) else None


def _refused(
    response: Response, uuid: str, generation: int | None, url: str
) -> exceptions.ResourceProviderUpdateConflict | exceptions.ResourceProviderUpdateFailed:
    """Return the exception to raise for a PUT that was not answered with 200."""
    if response.status_code == 409:
        # Every allocation changes a provider's generation, so this is the normal way to find out
        # that the cache is old; the caller's retry repairs it.
        LOG.info("Provider %s changed since generation %s: %s", uuid, generation, response.text)
        return exceptions.ResourceProviderUpdateConflict(
            uuid=uuid, generation=generation, error=response.text
        )
    return exceptions.ResourceProviderUpdateFailed(url=url, error=response.text)
