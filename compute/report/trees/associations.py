"""Reading what belongs to providers, sharing providers included (compute.md §3.6)."""

from __future__ import annotations

import logging

from compute import exceptions
from compute.report.trees.cache import ProviderCache
from compute.report.trees.providers import Providers
from compute.report.trees.whole_trees import Row, WholeTrees
from compute.report.wire.context import Context
from compute.report.wire.transport import ATTEMPTS

LOG = logging.getLogger(__name__)


class Associations:
    """What the cache has of each provider. `context` is any object with a `global_id`, or None."""

    def __init__(self, cache: ProviderCache, providers: Providers, whole_trees: WholeTrees) -> None:
        self._cache = cache
        self._providers = providers
        self._whole_trees = whole_trees

    def refresh_and_get_inventory(self, context: Context, uuid: str) -> dict[str, object] | None:
        """Read the inventory and generation into the cache; return None on an HTTP error."""
        current = self._providers.inventory_of(context, uuid)
        if current is not None:
            self._cache.tree.update_inventory(
                uuid, current["inventories"], generation=current["resource_provider_generation"]
            )
        return current

    def refresh_inventory(self, context: Context, uuid: str) -> None:
        """Read the inventory into the cache. Raises ResourceProviderRetrievalFailed on an error."""
        # Taken for an empty one, an inventory that could not be read would need no reshape.
        if self.refresh_and_get_inventory(context, uuid) is None:
            raise exceptions.ResourceProviderRetrievalFailed(uuid=uuid)

    def refresh(
        self, context: Context, uuid: str, force: bool = False, refresh_sharing: bool = True
    ) -> None:
        """Read the provider's inventories, aggregates and traits into the cache, if due.

        With `refresh_sharing` the providers that share with one of its aggregates are read too, as
        roots of their own. Raises what the reading methods raise; the provider is stale then.
        """
        if not force and not self._cache.is_stale(uuid):
            return
        # Until the provider is read as a whole it is stale, for other threads as well.
        self._cache.note_unread(uuid)
        self._cache.tree.update_all(self._own(context, uuid))
        if refresh_sharing:
            members = self._cache.tree.data(uuid).aggregates
            sharing = self._read_sharing(context, members, force)
            self._cache.note_sharing(uuid, sharing, others=True)
        self._cache.note_read(uuid)

    def whole_rows(self, context: Context, listed: list[Row]) -> tuple[list[Row], set[str]]:
        """Return the listed providers of a tree with all they have, and who shares with them.

        Sharing providers are read into the cache. Raises what the reading methods raise.
        """
        rows, sharing = list[Row](), set[str]()
        for row in listed:
            rows.append(self._whole(context, row))
            sharing |= self._read_sharing(context, rows[-1]["aggregates"], force=True)
        return rows, sharing

    def load_sharing(self, context: Context, uuid: str, aggregates: set[str]) -> None:
        """Read the providers that share with the aggregates of the tree of `uuid`."""
        rows = self._whole_trees.sharing(context, aggregates) if aggregates else []
        if rows is None:
            found = self._read_sharing(context, aggregates, force=True)
        else:
            found = {row["uuid"] for row in rows}
            for row in rows:
                self._cache.keep_sharing(row)
        self._cache.note_sharing(uuid, found)

    def _whole(self, context: Context, row: Row) -> Row:
        """Return a listed provider with all it has.

        It is not read if it was known before a conflict and didn't change. Raises what the reading
        methods raise.
        """
        known = self._cache.recollection.provider(row["uuid"], row["generation"])
        if known is None:
            return {**row, **self._own(context, row["uuid"])}
        return {
            **row,
            "inventories": known.inventory,
            "aggregates": known.aggregates,
            "traits": known.traits,
        }

    def _own(self, context: Context, uuid: str) -> Row:
        """Read inventories, aggregates, traits and the generation that they have.

        If the provider doesn't exist any more, forget its tree and raise ResourceProviderVanished.
        """
        try:
            for _ in range(ATTEMPTS):
                row, is_even = self._read_own(context, uuid)
                if is_even:
                    break
                LOG.debug("Provider %s changed while it was read; reading it again.", uuid)
        except (
            exceptions.ResourceProviderRetrievalFailed,
            exceptions.ResourceProviderAggregateRetrievalFailed,
            exceptions.ResourceProviderTraitRetrievalFailed,
        ) as failure:
            if self._providers.in_tree(context, uuid):
                raise
            self._cache.forget_tree(uuid)
            raise exceptions.ResourceProviderVanished(uuid=uuid) from failure
        return row

    def _read_own(self, context: Context, uuid: str) -> tuple[Row, bool]:
        """Read a provider once; say, too, whether all parts are of one generation.

        Of parts of different age the oldest generation counts, so that no write of ours replaces
        what is newer.
        """
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
        row = {
            "uuid": uuid,
            "inventories": inventory["inventories"],
            "aggregates": aggregates.aggregates,
            "traits": traits.traits,
            "generation": min(generations),
        }
        return row, len(generations) == 1

    def _read_sharing(self, context: Context, aggregates: set[str], force: bool) -> set[str]:
        """Read the providers that share with any of the aggregates; return their uuids."""
        sharing = self._providers.sharing(context, aggregates)
        for row in sharing:
            if self._cache.tree.exists(row["uuid"]):
                self.refresh(context, row["uuid"], force=force, refresh_sharing=False)
            else:
                self._cache.keep_sharing(self._whole(context, row))
        return {row["uuid"] for row in sharing}
