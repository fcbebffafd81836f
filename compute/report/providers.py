"""How the report client reads and ensures providers (compute.md §3.6)."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import quote

import os_traits
from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1.adapter import Adapter

from compute import exceptions
from compute.provider_tree import ProviderSubTree, ProviderTree
from compute.report.cache import ProviderCache
from compute.report.transport import ATTEMPTS, Transport, global_id, rebuilds_adapter, safe_connect

LOG = logging.getLogger(__name__)

NAME_CONFLICT = "Conflicting resource provider name:"

#: Marks a provider that was there when it was to be created.
FOUND = "found"


class AggInfo(NamedTuple):
    """A provider's aggregates, and its generation when they were read."""

    aggregates: set[str]
    generation: int


class TraitInfo(NamedTuple):
    """A provider's traits, and its generation when they were read."""

    traits: set[str]
    generation: int


class Providers(Transport, ProviderCache):
    """Reading and ensuring providers. `context` is any object with a `global_id`, or None."""

    def _create_client(self) -> Adapter:
        # Another placement may answer at the new endpoint.
        self.clear_provider_cache(init=True)
        return super()._create_client()

    # One provider

    @rebuilds_adapter
    def get_providers_in_tree(self, context: Any, uuid: str) -> list[dict[str, Any]]:
        """The providers of the tree that `uuid` is part of; empty if there is no such provider.

        Raises ResourceProviderRetrievalFailed, and ClientException if placement is unreachable.
        """
        response = self.get(
            f"/resource_providers?in_tree={uuid}",
            version="1.14",
            global_request_id=global_id(context),
        )
        if response.status_code == 200:
            return response.json()["resource_providers"]
        LOG.error("Failed to get the provider tree of %s: %s", uuid, response.text)
        raise exceptions.ResourceProviderRetrievalFailed(uuid=uuid)

    @safe_connect
    def _get_resource_provider(self, context: Any, uuid: str) -> dict[str, Any] | None:
        """The provider as placement shows it, or None. Raises ResourceProviderRetrievalFailed."""
        response = self.get(
            f"/resource_providers/{uuid}", version="1.14", global_request_id=global_id(context)
        )
        if response.status_code == 200:
            return response.json()
        if response.status_code == 404:
            return None
        LOG.error("Failed to get resource provider %s: %s", uuid, response.text)
        raise exceptions.ResourceProviderRetrievalFailed(uuid=uuid)

    def get_resource_provider_name(self, context: Any, uuid: str) -> str:
        """The provider's name. Raises ResourceProviderNotFound."""
        try:
            return self._provider_tree.data(uuid).name
        except ValueError:
            found = self._get_resource_provider(context, uuid)
        if found is None:
            raise exceptions.ResourceProviderNotFound(name_or_uuid=uuid)
        return found["name"]

    def get_provider_by_name(self, context: Any, name: str) -> dict[str, Any]:
        """The one provider of that name.

        Raises ResourceProviderNotFound, and PlacementAPIConnectFailure if placement is unreachable.
        """
        try:
            response = self.get(
                f"/resource_providers?name={quote(name, safe='')}",
                global_request_id=global_id(context),
            )
        except ksa_exc.ClientException as lost:
            LOG.error("Failed to look up resource provider %s: %s", name, lost)
            raise exceptions.PlacementAPIConnectFailure() from lost
        if response.status_code == 200:
            found = response.json()["resource_providers"]
            if len(found) == 1:
                return found[0]
            if found:
                LOG.warning("Found multiple resource providers named %s: %s", name, found)
        else:
            LOG.warning("Unable to look up resource provider %s: %s", name, response.text)
        raise exceptions.ResourceProviderNotFound(name_or_uuid=name)

    @safe_connect
    def _create_resource_provider(
        self, context: Any, uuid: str, name: str, parent_provider_uuid: str | None = None
    ) -> dict[str, Any] | None:
        """Create the provider and answer with it; or with what somebody else made of this uuid.

        The latter has an entry FOUND, for there may be more to it than the answer tells.
        Raises ResourceProviderCreationFailed, also if the name is taken by another uuid; then
        ResourceProviderCreationConflict if that is a provider of the tree this one belongs to.
        """
        payload = {"uuid": uuid, "name": name}
        if parent_provider_uuid is not None:
            payload["parent_provider_uuid"] = parent_provider_uuid
        response = self.post(
            "/resource_providers", payload, version="1.20", global_request_id=global_id(context)
        )
        if response:
            LOG.info("Created resource provider %s with UUID %s.", name, uuid)
            return response.json()
        if response.status_code == 409 and NAME_CONFLICT not in response.text:
            LOG.info("Another thread created resource provider %s.", uuid)
            found = self._get_resource_provider(context, uuid)
            return None if found is None else {**found, FOUND: True}
        if response.status_code == 409 and self._is_made_elsewhere(
            context, name, parent_provider_uuid
        ):
            LOG.info("Another writer created resource provider %s with another uuid.", name)
            raise exceptions.ResourceProviderCreationConflict(name=name)
        LOG.error("Failed to create resource provider %s (%s): %s", name, uuid, response.text)
        raise exceptions.ResourceProviderCreationFailed(name=name)

    def _is_made_elsewhere(self, context: Any, name: str, parent_uuid: str | None) -> bool:
        """Say whether the name is that of another provider of the parent's tree, or free again."""
        if parent_uuid is None or not self._provider_tree.exists(parent_uuid):
            return False
        root = self._provider_tree.get_provider_uuids_in_tree(parent_uuid)[0]
        response = self.get(
            f"/resource_providers?name={quote(name, safe='')}",
            version="1.14",
            global_request_id=global_id(context),
        )
        if response.status_code != 200:
            return False
        namesakes = response.json()["resource_providers"]
        return all(row["root_provider_uuid"] == root for row in namesakes)

    def _delete_provider(self, context: Any, uuid: str) -> None:
        """Delete the provider, which may be gone already, and forget it.

        Raises ResourceProviderInUse if it has allocations or children,
        ResourceProviderDeletionFailed, and ClientException if placement is unreachable.
        """
        response = self.delete(f"/resource_providers/{uuid}", global_request_id=global_id(context))
        if response or response.status_code == 404:
            LOG.info("Deleted resource provider %s.", uuid)
            self.invalidate_resource_provider(uuid)
            return
        if response.status_code == 409:
            LOG.warning("Resource provider %s is in use: %s", uuid, response.text)
            raise exceptions.ResourceProviderInUse()
        LOG.error("Failed to delete resource provider %s: %s", uuid, response.text)
        raise exceptions.ResourceProviderDeletionFailed(uuid=uuid)

    # Associations

    def _get_inventory(self, context: Any, uuid: str) -> dict[str, Any] | None:
        """`{"inventories": …, "resource_provider_generation": …}`, or None on any HTTP error."""
        response = self.get(
            f"/resource_providers/{uuid}/inventories", global_request_id=global_id(context)
        )
        return response.json() if response else None

    def _refresh_and_get_inventory(self, context: Any, uuid: str) -> dict[str, Any] | None:
        """`_get_inventory`, kept in the cache together with the generation."""
        current = self._get_inventory(context, uuid)
        if current is not None:
            self._provider_tree.update_inventory(
                uuid, current["inventories"], generation=current["resource_provider_generation"]
            )
        return current

    def _refresh_inventory(self, context: Any, uuid: str) -> None:
        # An inventory taken for empty would be taken for one that needs no reshape.
        if self._refresh_and_get_inventory(context, uuid) is None:
            raise exceptions.ResourceProviderRetrievalFailed(uuid=uuid)

    @safe_connect
    def _get_provider_aggregates(self, context: Any, uuid: str) -> AggInfo:
        """The provider's aggregates. Raises ResourceProviderAggregateRetrievalFailed."""
        response = self.get(
            f"/resource_providers/{uuid}/aggregates",
            version="1.19",
            global_request_id=global_id(context),
        )
        if response.status_code == 200:
            body = response.json()
            return AggInfo(set(body["aggregates"]), body["resource_provider_generation"])
        LOG.error("Failed to get aggregates of provider %s: %s", uuid, response.text)
        raise exceptions.ResourceProviderAggregateRetrievalFailed(uuid=uuid)

    def get_provider_traits(self, context: Any, uuid: str) -> TraitInfo:
        """The provider's traits.

        Raises ResourceProviderTraitRetrievalFailed, and ClientException if placement is
        unreachable.
        """
        response = self.get(
            f"/resource_providers/{uuid}/traits",
            version="1.6",
            global_request_id=global_id(context),
        )
        if response.status_code == 200:
            body = response.json()
            return TraitInfo(set(body["traits"]), body["resource_provider_generation"])
        LOG.error("Failed to get traits of provider %s: %s", uuid, response.text)
        raise exceptions.ResourceProviderTraitRetrievalFailed(uuid=uuid)

    @safe_connect
    def _get_sharing_providers(
        self, context: Any, aggregates: Iterable[str]
    ) -> list[dict[str, Any]]:
        """The providers that share with any of `aggregates`, each once.

        Asked in batches, for a URL has a length. Raises ResourceProviderRetrievalFailed.
        """
        wanted = sorted(aggregates)
        size = self._conf.compute.sharing_providers_max_uuids_per_request
        found: dict[str, dict[str, Any]] = {}
        for start in range(0, len(wanted), size):
            members = ",".join(wanted[start : start + size])
            response = self.get(
                f"/resource_providers?member_of=in:{members}"
                f"&required={os_traits.MISC_SHARES_VIA_AGGREGATE}",
                version="1.18",
                global_request_id=global_id(context),
            )
            if response.status_code != 200:
                LOG.error("Failed to get the sharing providers of %s: %s", members, response.text)
                raise exceptions.ResourceProviderRetrievalFailed(uuid=members)
            found.update((row["uuid"], row) for row in response.json()["resource_providers"])
        return list(found.values())

    def _refresh_associations(
        self, context: Any, uuid: str, force: bool = False, refresh_sharing: bool = True
    ) -> None:
        """Read the provider's inventories, aggregates and traits into the cache, if due.

        With `refresh_sharing` the providers that share with one of its aggregates come in too, as
        roots of their own. Raises what the reading methods raise; the cache keeps what came before.
        """
        if not force and not self._associations_stale(uuid):
            return
        # Until it is read whole it is of no age, to other threads as well.
        self._association_refresh_time.pop(uuid, None)
        for _ in range(ATTEMPTS):
            generations = self._refresh_own(context, uuid)
            if len(generations) == 1:
                break
            LOG.debug("Provider %s changed while it was read; reading it again.", uuid)
        else:
            # Parts of different age, at the oldest generation: nobody may write over what is newer.
            known = self._provider_tree.data(uuid)
            self._provider_tree.update_traits(
                uuid, known.traits, generation=min(generations, key=lambda one: one or 0)
            )
        if refresh_sharing:
            members = self._provider_tree.data(uuid).aggregates
            self._refresh_sharing_providers(context, uuid, members, force)
        self._associations_read(uuid)

    def _refresh_own(self, context: Any, uuid: str) -> set[int | None]:
        """Read inventories, aggregates and traits, and return the generations they had then.

        Raises ResourceProviderVanished if there is no such provider any more, and forgets its tree.
        """
        try:
            return self._read_own(context, uuid)
        except (
            exceptions.ResourceProviderRetrievalFailed,
            exceptions.ResourceProviderAggregateRetrievalFailed,
            exceptions.ResourceProviderTraitRetrievalFailed,
        ) as failure:
            if self.get_providers_in_tree(context, uuid):
                raise
            self._clear_provider_cache_for_tree(uuid)
            raise exceptions.ResourceProviderVanished(uuid=uuid) from failure

    def _read_own(self, context: Any, uuid: str) -> set[int | None]:
        self._refresh_inventory(context, uuid)
        generations = {self._provider_tree.data(uuid).generation}
        aggregates = self._get_provider_aggregates(context, uuid)
        if aggregates is None:
            raise exceptions.ResourceProviderAggregateRetrievalFailed(uuid=uuid)
        self._provider_tree.update_aggregates(
            uuid, aggregates.aggregates, generation=aggregates.generation
        )
        traits = self.get_provider_traits(context, uuid)
        self._provider_tree.update_traits(uuid, traits.traits, generation=traits.generation)
        return generations | {aggregates.generation, traits.generation}

    def _refresh_sharing_providers(
        self, context: Any, uuid: str, aggregates: set[str], force: bool
    ) -> None:
        sharing = self._get_sharing_providers(context, aggregates)
        if sharing is None:
            raise exceptions.ResourceProviderRetrievalFailed(uuid=uuid)
        for row in sharing:
            bare = True
            try:
                self._provider_tree.new_root(row["name"], row["uuid"], row["generation"])
            except ValueError:
                bare = False  # it is known already
            if bare and self._recollect(context, row["uuid"], refresh_sharing=False):
                continue
            self._refresh_associations(
                context, row["uuid"], force=force or bare, refresh_sharing=False
            )

    # Trees

    def _ensure_resource_provider(
        self,
        context: Any,
        uuid: str,
        name: str | None = None,
        parent_provider_uuid: str | None = None,
    ) -> str:
        """See to it that the provider exists and that the cache knows its tree; answer its uuid.

        A provider that exists keeps its name and its parent. Nothing is sent while the cache is
        fresh. Raises ResourceProviderCreationFailed and what the reading methods raise.
        """
        if self._provider_tree.exists(uuid) and not self._associations_stale(uuid):
            for member in self._provider_tree.get_provider_uuids(uuid):
                self._refresh_associations(context, member)
        elif not self._load_tree(context, uuid):
            self._create_and_cache(context, uuid, name or uuid, parent_provider_uuid)
        return uuid

    def _load_tree(self, context: Any, uuid: str) -> bool:
        """Read the whole tree of `uuid` into the cache; False if placement doesn't know it."""
        rows = self.get_providers_in_tree(context, uuid)
        if not rows:
            self.invalidate_resource_provider(uuid)
            return False
        self._provider_tree.populate_from_iterable(rows)
        members = self._provider_tree.get_provider_uuids_in_tree(uuid)
        for member in members:
            # They are bare now: none may pass for fresh if the next reads fail.
            self._association_refresh_time.pop(member, None)
        for member in members:
            if not self._recollect(context, member):
                self._refresh_associations(context, member, force=True)
        return True

    def _recollect(self, context: Any, uuid: str, refresh_sharing: bool = True) -> bool:
        """Fill in what was read before a conflict, if the provider hasn't changed since."""
        known = self._recollection.provider(uuid, self._provider_tree.data(uuid).generation)
        if known is None:
            return False
        self._provider_tree.update_inventory(uuid, known.inventory)
        self._provider_tree.update_aggregates(uuid, known.aggregates)
        self._provider_tree.update_traits(uuid, known.traits)
        if refresh_sharing:
            self._refresh_sharing_providers(context, uuid, known.aggregates, force=True)
        self._associations_read(uuid)
        return True

    def _create_and_cache(
        self, context: Any, uuid: str, name: str, parent_provider_uuid: str | None
    ) -> None:
        if parent_provider_uuid and not self._provider_tree.exists(parent_provider_uuid):
            self._load_tree(context, parent_provider_uuid)
        created = self._create_resource_provider(context, uuid, name, parent_provider_uuid)
        if created is None:
            raise exceptions.ResourceProviderCreationFailed(name=name)
        # Its maker put more to it meanwhile, or somewhere else: what placement has is what counts.
        if created.get(FOUND) and self._load_tree(context, uuid):
            return
        parent = created.get("parent_provider_uuid")
        if parent is None:
            self._provider_tree.new_root(created["name"], uuid, created["generation"])
        else:
            self._provider_tree.new_child(created["name"], parent, uuid, created["generation"])
        self._associations_read(uuid)

    def get_provider_tree_and_ensure_root(
        self,
        context: Any,
        uuid: str,
        name: str | None = None,
        parent_provider_uuid: str | None = None,
    ) -> ProviderTree:
        """A private copy of everything known, with provider `uuid` in it.

        The provider is created, named `name` (else by its uuid), if placement has none. It may be
        any member of a tree. The copy holds what is known of other trees as well, which must be
        left as it is. Raises as `_ensure_resource_provider`, and ResourceProviderUpdateConflict if
        another thread made the client forget the tree meanwhile.
        """
        with self.working_with(uuid):
            self._ensure_resource_provider(context, uuid, name, parent_provider_uuid)
            return copy.deepcopy(self._provider_tree)

    def get_provider_subtree_and_ensure_root(
        self,
        context: Any,
        uuid: str,
        name: str | None = None,
        parent_provider_uuid: str | None = None,
        with_sharing: bool = False,
    ) -> ProviderSubTree:
        """Like `get_provider_tree_and_ensure_root`, but a copy of the one tree rooted at `uuid`.

        `with_sharing` adds, as roots without children, the providers that share with one of its
        members' aggregates. ValueError if `uuid` isn't a root.
        """
        with self.working_with(uuid):
            self._ensure_resource_provider(context, uuid, name, parent_provider_uuid)
            if with_sharing:
                return self._provider_tree.subtree_with_sharing(uuid)
            return self._provider_tree.subtree(uuid)
