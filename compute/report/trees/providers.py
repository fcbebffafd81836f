"""What placement tells of one provider, and how a provider is created and deleted.

The methods are those of compute.md §3.6 that send requests; `associations` and `trees` keep what
these return in the cache.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import quote

import os_traits
from keystoneauth1 import exceptions as ksa_exc
from oslo_config import cfg

from compute import exceptions
from compute.report.trees.cache import ProviderCache
from compute.report.trees.namesakes import Namesakes
from compute.report.wire.context import Context
from compute.report.wire.failures import Refusal
from compute.report.wire.transport import Transport, global_id
from compute.report.wire.unreachable import rebuilds_adapter, safe_connect

LOG = logging.getLogger(__name__)

NAME_CONFLICT = "Conflicting resource provider name:"

#: key of a provider, as `create` returns it, that existed already
FOUND = "found"


class AggInfo(NamedTuple):
    """A provider's aggregates, and its generation when they were read."""

    aggregates: set[str]
    generation: int


class TraitInfo(NamedTuple):
    """A provider's traits, and its generation when they were read."""

    traits: set[str]
    generation: int


class Providers:
    """Requests about providers."""

    def __init__(self, transport: Transport, cache: ProviderCache, conf: cfg.ConfigOpts) -> None:
        self.transport = transport
        self.namesakes = Namesakes(transport)
        self._cache = cache
        self._conf = conf

    @rebuilds_adapter
    def in_tree(self, context: Context, uuid: str) -> list[dict[str, object]]:
        """Return the providers of the tree that `uuid` is part of; none if it doesn't exist.

        Raises ResourceProviderRetrievalFailed, and ClientException if placement is unreachable.
        """
        response = self.transport.get(
            f"/resource_providers?in_tree={uuid}",
            version="1.14",
            global_request_id=global_id(context),
        )
        if response.status_code == 200:
            return response.json()["resource_providers"]
        raise exceptions.ResourceProviderRetrievalFailed(uuid=uuid) from Refusal(response)

    @safe_connect
    def read(self, context: Context, uuid: str) -> dict[str, Any] | None:
        """Return the provider as placement shows it, or None.

        Raises ResourceProviderRetrievalFailed if placement refuses.
        """
        return self._read(context, uuid)

    def _read(self, context: Context, uuid: str) -> dict[str, object] | None:
        response = self.transport.get(
            f"/resource_providers/{uuid}", version="1.14", global_request_id=global_id(context)
        )
        if response.status_code == 200:
            return response.json()
        if response.status_code == 404:
            return None
        raise exceptions.ResourceProviderRetrievalFailed(uuid=uuid) from Refusal(response)

    def name_of(self, context: Context, uuid: str) -> str:
        """Return the provider's name. Raises ResourceProviderNotFound if there is none."""
        try:
            return self._cache.tree.data(uuid).name
        except ValueError:
            found = self.read(context, uuid)
        if found is None:
            raise exceptions.ResourceProviderNotFound(name_or_uuid=uuid)
        return found["name"]

    def by_name(self, context: Context, name: str) -> dict[str, Any]:
        """Return the one provider of that name.

        Raises ResourceProviderNotFound if there is none, and PlacementAPIConnectFailure if
        placement is unreachable.
        """
        try:
            response = self.transport.get(
                f"/resource_providers?name={quote(name, safe='')}",
                global_request_id=global_id(context),
            )
        except ksa_exc.ClientException as lost:
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

    def create(
        self, context: Context, uuid: str, name: str, parent_provider_uuid: str | None = None
    ) -> dict[str, Any] | None:
        """Create the provider and return it, or the provider of this uuid that exists already.

        A provider that existed has the key FOUND: it may have inventories, aggregates and traits
        already. Raises ResourceProviderCreationConflict if another provider in the parent's tree
        has the name; ResourceProviderCreationFailed if a provider elsewhere has it, and for other
        refusals; and ClientException if placement is unreachable.
        """
        payload = {"uuid": uuid, "name": name}
        if parent_provider_uuid is not None:
            payload["parent_provider_uuid"] = parent_provider_uuid
        response = self.transport.post(
            "/resource_providers", payload, version="1.20", global_request_id=global_id(context)
        )
        if response:
            LOG.info("Created resource provider %s with UUID %s.", name, uuid)
            return response.json()
        if response.status_code == 409 and NAME_CONFLICT not in response.text:
            LOG.info("Another thread created resource provider %s.", uuid)
            found = self._read(context, uuid)
            return None if found is None else {**found, FOUND: True}
        failure = exceptions.ResourceProviderCreationFailed(name=name)
        if response.status_code == 409:
            failure = self.name_taken(context, uuid, name, parent_provider_uuid)
        raise failure from Refusal(response)

    def name_taken(
        self, context: Context, uuid: str, name: str, parent_uuid: str | None
    ) -> exceptions.ResourceProviderCreationFailed:
        """Return the exception to raise for a new provider whose name another one has.

        It is a ResourceProviderCreationConflict if that one is in the tree of the parent. Otherwise
        the message says what that provider has, and how to move it to the new root. Raises
        ClientException if placement is unreachable.
        """
        if self._is_made_elsewhere(context, name, parent_uuid):
            LOG.info("Another writer created resource provider %s with another uuid.", name)
            return exceptions.ResourceProviderCreationConflict(name=name)
        failure = exceptions.ResourceProviderCreationFailed(name=name)
        told = self.namesakes.described(context, uuid, name) if parent_uuid is None else ""
        if told:
            message = f"{failure} ({uuid}). {told}"
            failure = exceptions.ResourceProviderCreationFailed(message, name=name)
        return failure

    def _is_made_elsewhere(self, context: Context, name: str, parent_uuid: str | None) -> bool:
        """Say whether a provider of the parent's tree has the name, or no provider any more."""
        if parent_uuid is None or not self._cache.tree.exists(parent_uuid):
            return False
        root = self._cache.tree.get_provider_uuids_in_tree(parent_uuid)[0]
        response = self.transport.get(
            f"/resource_providers?name={quote(name, safe='')}",
            version="1.14",
            global_request_id=global_id(context),
        )
        if response.status_code != 200:
            return False
        namesakes = response.json()["resource_providers"]
        return all(row["root_provider_uuid"] == root for row in namesakes)

    def delete(self, context: Context, uuid: str) -> None:
        """Delete the provider, which may be gone already, and forget it.

        Raises ResourceProviderInUse if it has allocations or children,
        ResourceProviderDeletionFailed, and ClientException if placement is unreachable.
        """
        response = self.transport.delete(
            f"/resource_providers/{uuid}", global_request_id=global_id(context)
        )
        if response or response.status_code == 404:
            LOG.info("Deleted resource provider %s.", uuid)
            self._cache.invalidate(uuid)
            return
        if response.status_code == 409:
            raise exceptions.ResourceProviderInUse() from Refusal(response)
        raise exceptions.ResourceProviderDeletionFailed(uuid=uuid) from Refusal(response)

    # Associations

    def inventory_of(self, context: Context, uuid: str) -> dict[str, Any] | None:
        """Return `{"inventories", "resource_provider_generation"}`; None on any HTTP error."""
        response = self.transport.get(
            f"/resource_providers/{uuid}/inventories", global_request_id=global_id(context)
        )
        return response.json() if response else None

    def aggregates_of(self, context: Context, uuid: str) -> AggInfo:
        """Return the provider's aggregates.

        Raises ResourceProviderAggregateRetrievalFailed, and ClientException if placement is
        unreachable.
        """
        failed = exceptions.ResourceProviderAggregateRetrievalFailed
        return AggInfo(*self._set_of(context, uuid, "aggregates", "1.19", failed))

    def traits_of(self, context: Context, uuid: str) -> TraitInfo:
        """Return the provider's traits.

        Raises ResourceProviderTraitRetrievalFailed, and ClientException if placement is
        unreachable.
        """
        failed = exceptions.ResourceProviderTraitRetrievalFailed
        return TraitInfo(*self._set_of(context, uuid, "traits", "1.6", failed))

    def _set_of(
        self,
        context: Context,
        uuid: str,
        what: str,
        version: str,
        failed: type[exceptions.NovaException],
    ) -> tuple[set[str], int]:
        """Return the provider's traits or aggregates, and its generation."""
        response = self.transport.get(
            f"/resource_providers/{uuid}/{what}", version, global_id(context)
        )
        if response.status_code != 200:
            raise failed(uuid=uuid) from Refusal(response)
        body = response.json()
        return set(body[what]), body["resource_provider_generation"]

    def sharing(self, context: Context, aggregates: Iterable[str]) -> list[dict[str, Any]]:
        """Return the providers that share with any of `aggregates`, each once.

        The client asks in batches, because a URL must not be too long. Raises
        ResourceProviderRetrievalFailed if placement refuses, and ClientException if it is
        unreachable.
        """
        wanted = sorted(aggregates)
        size = self._conf.compute.sharing_providers_max_uuids_per_request
        found: dict[str, dict[str, Any]] = {}
        for start in range(0, len(wanted), size):
            members = ",".join(wanted[start : start + size])
            response = self.transport.get(
                f"/resource_providers?member_of=in:{members}"
                f"&required={os_traits.MISC_SHARES_VIA_AGGREGATE}",
                version="1.18",
                global_request_id=global_id(context),
            )
            if response.status_code != 200:
                raise exceptions.ResourceProviderRetrievalFailed(uuid=members) from Refusal(
                    response
                )
            found.update((row["uuid"], row) for row in response.json()["resource_providers"])
        return list(found.values())
