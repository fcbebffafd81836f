"""Writing one provider's inventory, traits and aggregates (compute.md §3.7).

Each method sends nothing where the cache says that placement has it that way already, and keeps
placement's answer, new generation included, in the cache.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from requests import Response

from compute import exceptions
from compute.provider_tree import ProviderData
from compute.provider_tree.inventory_record import Inventory
from compute.report.providers import Providers
from compute.report.transport import (
    INVENTORY_IN_USE,
    error_code,
    error_detail,
    global_id,
    reached,
    safe_connect,
)

LOG = logging.getLogger(__name__)


class Properties(Providers):
    """Writing what a provider has. `context` is any object with a `global_id`, or None."""

    # Inventory

    @safe_connect
    def _ensure_resource_classes(self, context: Any, names: Iterable[str]) -> bool:
        """Create the custom classes among `names` that don't exist; standard ones always do.

        True when all exist. Raises InvalidResourceClass.
        """
        for name in sorted(name for name in names if name.startswith("CUSTOM_")):
            response = self.put(
                f"/resource_classes/{name}",
                None,
                version="1.7",
                global_request_id=global_id(context),
            )
            if not response:
                LOG.error("Failed to ensure resource class %s: %s", name, response.text)
                raise exceptions.InvalidResourceClass(resource_class=name)
        return True

    def set_inventory_for_provider(
        self,
        context: Any,
        uuid: str,
        inventory: Inventory | None,
        generation: int | None = None,
    ) -> None:
        """Make `inventory` the provider's whole inventory; None or `{}` clears it.

        A `generation`, of which the caller knew the provider, is sent instead of the cached one.
        Records may be partial: placement fills in its defaults. It refuses a total of 0, so leave
        such a class out.

        Raises ValueError for a provider that isn't cached, InvalidResourceClass, InventoryInUse,
        ResourceProviderUpdateConflict, ResourceProviderUpdateFailed, and ClientException or
        PlacementAPIConnectFailure if placement is unreachable.
        """
        wanted = inventory or {}
        if not self._provider_tree.has_inventory_changed(uuid, wanted):
            return
        reached(self._ensure_resource_classes(context, set(wanted)))
        if generation is None:
            generation = self._provider_tree.data(uuid).generation
        url = f"/resource_providers/{uuid}/inventories"
        response = self.put(
            url,
            {"resource_provider_generation": generation, "inventories": wanted},
            version="1.26",
            global_request_id=global_id(context),
        )
        if response.status_code == 200:
            body = response.json()
            self._provider_tree.update_inventory(
                uuid, body["inventories"], generation=body["resource_provider_generation"]
            )
            return
        if response.status_code == 409 and error_code(response) == INVENTORY_IN_USE:
            LOG.warning("Inventory of provider %s is in use: %s", uuid, response.text)
            raise exceptions.InventoryInUse(error_detail(response))
        raise _refused(response, uuid, generation, url)

    # Traits

    @safe_connect
    def _ensure_traits(self, context: Any, traits: Iterable[str]) -> bool:
        """Create the custom ones among `traits` that don't exist. True when all exist.

        Raises TraitRetrievalFailed, and TraitCreationFailed, also for a standard name that isn't
        one: those can't be made.
        """
        wanted = sorted(set(traits))
        if not wanted:
            return True
        response = self.get(
            f"/traits?name=in:{','.join(wanted)}",
            version="1.6",
            global_request_id=global_id(context),
        )
        if response.status_code != 200:
            LOG.error("Failed to retrieve traits: %s", response.text)
            raise exceptions.TraitRetrievalFailed(error=response.text)
        existing = set(response.json()["traits"])
        for name in wanted:
            if name in existing:
                continue
            response = self.put(
                f"/traits/{name}", None, version="1.6", global_request_id=global_id(context)
            )
            if not response:
                LOG.error("Failed to create trait %s: %s", name, response.text)
                raise exceptions.TraitCreationFailed(name=name, error=response.text)
        return True

    @safe_connect
    def set_traits_for_provider(
        self, context: Any, uuid: str, traits: Iterable[str], generation: int | None = None
    ) -> bool | None:
        """Make `traits` the provider's whole set of traits, creating custom ones.

        With a `generation`, read by the caller along with the traits it changed, that one is sent
        and the cache decides nothing unless it is of the same age. True when placement has them;
        None if it is unreachable.

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
        if self._ensure_traits(context, wanted) is None:
            return None
        url = f"/resource_providers/{uuid}/traits"
        # PUT also to clear them: the answer to DELETE doesn't tell the generation.
        response = self.put(
            url,
            {"resource_provider_generation": sent, "traits": sorted(wanted)},
            version="1.6",
            global_request_id=global_id(context),
        )
        if response.status_code != 200:
            raise _refused(response, uuid, sent, url)
        if self._provider_tree.exists(uuid):
            body = response.json()
            self._provider_tree.update_traits(
                uuid, body["traits"], generation=body["resource_provider_generation"]
            )
        return True

    # Aggregates

    @safe_connect
    def set_aggregates_for_provider(
        self,
        context: Any,
        uuid: str,
        aggregates: Iterable[str],
        use_cache: bool = True,
        generation: int | None = None,
    ) -> bool:
        """Make `aggregates` the provider's whole set of aggregates.

        Without a `generation` the cached one is sent; that needs `use_cache`. Without `use_cache`
        the provider need not be cached. True when placement has them; None if it is unreachable.

        Raises ValueError for a generation or a provider that is needed and not there,
        ResourceProviderUpdateConflict – the provider and what is below it are no longer cached
        then – and ResourceProviderUpdateFailed.
        """
        wanted = set(aggregates)
        if generation is None:
            if not use_cache:
                raise ValueError("generation is required with use_cache=False")
            generation = self._provider_tree.data(uuid).generation
        known = self._known(uuid, generation)
        if known is not None and known.aggregates == wanted:
            return True
        url = f"/resource_providers/{uuid}/aggregates"
        response = self.put(
            url,
            {"aggregates": sorted(wanted), "resource_provider_generation": generation},
            version="1.19",
            global_request_id=global_id(context),
        )
        if response.status_code == 409:
            self.invalidate_resource_provider(uuid)
        if response.status_code != 200:
            raise _refused(response, uuid, generation, url)
        body = response.json()
        try:
            self._provider_tree.update_aggregates(
                uuid, body["aggregates"], generation=body["resource_provider_generation"]
            )
        except ValueError:
            if use_cache:
                raise
        return True

    def _known(self, uuid: str, generation: int | None) -> ProviderData | None:
        """The cached provider, if there is one and, with a `generation`, it is of that age."""
        try:
            known = self._provider_tree.data(uuid)
        except ValueError:
            return None
        return known if generation in (None, known.generation) else None


def _refused(
    response: Response, uuid: str, generation: int | None, url: str
) -> exceptions.ResourceProviderUpdateConflict | exceptions.ResourceProviderUpdateFailed:
    """What to raise for a PUT that was not answered with 200."""
    if response.status_code == 409:
        # Every allocation moves a provider's generation on, so this is the normal way to find out
        # that the cache is behind; the caller's retry repairs it.
        LOG.info("Provider %s changed since generation %s: %s", uuid, generation, response.text)
        return exceptions.ResourceProviderUpdateConflict(
            uuid=uuid, generation=generation, error=response.text
        )
    LOG.error("Failed to update provider %s via %s: %s", uuid, url, response.text)
    return exceptions.ResourceProviderUpdateFailed(url=url, error=response.text)
