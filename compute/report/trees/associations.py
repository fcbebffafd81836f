"""Reading what belongs to providers, sharing providers included (compute.md §3.6)."""

from __future__ import annotations

import logging
from typing import Any

from compute import exceptions
from compute.report.trees.cache import ProviderCache
from compute.report.trees.providers import Providers
from compute.report.trees.whole_trees import WholeTrees
from compute.report.wire.transport import ATTEMPTS

LOG = logging.getLogger(__name__)


class Associations:
    """What the cache has of each provider. `context` is any object with a `global_id`, or None."""

    def __init__(self, cache: ProviderCache, providers: Providers, whole_trees: WholeTrees) -> None:
        self._cache = cache
        self._providers = providers
        self._whole_trees = whole_trees

    def refresh_and_get_inventory(self, context: Any, uuid: str) -> dict[str, Any] | None:
        """Read the inventory and generation into the cache; return None on an HTTP error."""
        current = self._providers.inventory_of(context, uuid)
        if current is not None:
            self._cache.tree.update_inventory(
                uuid, current["inventories"], generation=current["resource_provider_generation"]
            )
        return current

    def refresh_inventory(self, context: Any, uuid: str) -> None:
        """Read the inventory into the cache. Raise ResourceProviderRetrievalFailed."""
        # An inventory that could not be read must not pass for an empty one: that needs no reshape.
        if self.refresh_and_get_inventory(context, uuid) is None:
            raise exceptions.ResourceProviderRetrievalFailed(uuid=uuid)

    def refresh(
        self, context: Any, uuid: str, force: bool = False, refresh_sharing: bool = True
    ) -> None:
        """Read the provider's inventories, aggregates and traits into the cache, if due.

        With `refresh_sharing` the providers that share with one of its aggregates are read too, as
        roots of their own. Raise what the reading methods raise; the cache keeps what was read
        before the failure.
        """
        if not force and not self._cache.is_stale(uuid):
            return
        # Until the provider is read whole it is stale, for other threads as well.
        self._cache.note_unread(uuid)
        for _ in range(ATTEMPTS):
            if self._refresh_own(context, uuid):
                break
            LOG.debug("Provider %s changed while it was read; reading it again.", uuid)
        if refresh_sharing:
            members = self._cache.tree.data(uuid).aggregates
            self._refresh_sharing_providers(context, uuid, members, force)
        self._cache.note_read(uuid)

    def recollect(self, context: Any, uuid: str, refresh_sharing: bool = True) -> bool:
        """Fill in what was read before a conflict, if the provider didn't change; say whether."""
        known = self._cache.recollection.provider(uuid, self._cache.tree.data(uuid).generation)
        if known is None:
            return False
        self._cache.tree.update_inventory(uuid, known.inventory)
        self._cache.tree.update_aggregates(uuid, known.aggregates)
        self._cache.tree.update_traits(uuid, known.traits)
        if refresh_sharing:
            self._refresh_sharing_providers(context, uuid, known.aggregates, force=True)
        self._cache.note_read(uuid)
        return True

    def load_sharing(self, context: Any, uuid: str, aggregates: set[str]) -> None:
        """Read the providers that share with the aggregates of the tree of `uuid`."""
        self._cache.note_sharing(uuid, ())
        if not aggregates:
            return
        sharing = self._whole_trees.sharing(context, aggregates)
        if sharing is None:
            self._refresh_sharing_providers(context, uuid, aggregates, force=True)
            return
        for row in sharing:
            self._is_new_root(row)
            self._cache.keep(row)
            self._cache.note_read(row["uuid"])
        self._cache.note_sharing(uuid, [row["uuid"] for row in sharing])

    def _refresh_own(self, context: Any, uuid: str) -> bool:
        """Read inventories, aggregates and traits; say whether they are of one generation.

        If the provider doesn't exist any more, forget its tree and raise ResourceProviderVanished.
        """
        try:
            return self._read_own(context, uuid)
        except (
            exceptions.ResourceProviderRetrievalFailed,
            exceptions.ResourceProviderAggregateRetrievalFailed,
            exceptions.ResourceProviderTraitRetrievalFailed,
        ) as failure:
            if self._providers.in_tree(context, uuid):
                raise
            self._cache.forget_tree(uuid)
            raise exceptions.ResourceProviderVanished(uuid=uuid) from failure

    def _read_own(self, context: Any, uuid: str) -> bool:
        inventory = self._providers.inventory_of(context, uuid)
        if inventory is None:
            raise exceptions.ResourceProviderRetrievalFailed(uuid=uuid)
        aggregates = self._providers.aggregates_of(context, uuid)
        traits = self._providers.traits_of(context, uuid)
        generations = {
            inventory["resource_provider_generation"],
            aggregates.generation,
            traits.generation,
        }
        # All at once, for threads that copy it meanwhile. Of parts of different age the oldest
        # generation counts, so that no write of ours replaces what is newer.
        self._cache.keep(
            {
                "uuid": uuid,
                "inventories": inventory["inventories"],
                "aggregates": aggregates.aggregates,
                "traits": traits.traits,
                "generation": min(generations),
            }
        )
        return len(generations) == 1

    def _refresh_sharing_providers(
        self, context: Any, uuid: str, aggregates: set[str], force: bool
    ) -> None:
        sharing = self._providers.sharing(context, aggregates)
        self._cache.note_sharing(uuid, [row["uuid"] for row in sharing], others=True)
        for row in sharing:
            bare = self._is_new_root(row)
            if bare and self.recollect(context, row["uuid"], refresh_sharing=False):
                continue
            self.refresh(context, row["uuid"], force=force or bare, refresh_sharing=False)

    def _is_new_root(self, row: dict[str, Any]) -> bool:
        """Put a sharing provider into the cache, bare; return False if it is known already."""
        try:
            self._cache.tree.new_root(row["name"], row["uuid"], row["generation"])
        except ValueError:
            return False
        return True
