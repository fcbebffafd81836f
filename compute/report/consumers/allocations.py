"""Reading and writing allocations (compute.md §3.8, §3.10)."""

from __future__ import annotations

import copy
import logging
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from keystoneauth1 import exceptions as ksa_exc
from requests import Response

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations, Held
from compute.report.trees.cache import ProviderCache
from compute.report.trees.providers import Providers
from compute.report.trees.whole_trees import WholeTrees
from compute.report.wire.context import Context
from compute.report.wire.failures import Refusal
from compute.report.wire.transport import (
    CONCURRENT_UPDATE,
    Retry,
    Transport,
    error_code,
    error_detail,
    global_id,
    retries,
)
from compute.report.wire.unreachable import safe_connect

LOG = logging.getLogger(__name__)

CONSUMER_GENERATION_VERSION = "1.28"
#: how many consumers one request names, where placement takes several
_AT_ONCE = 10_000
CONSUMER_CONFLICT = "consumer generation conflict"


class ProviderAllocInfo(NamedTuple):
    """What is allocated against one provider: `{consumer uuid: {"resources": {class: amount}}}`."""

    allocations: dict[str, dict[str, Any]]


class ConsumerAllocations:
    """Reading and writing allocations."""

    def __init__(
        self,
        transport: Transport,
        cache: ProviderCache,
        providers: Providers,
        whole_trees: WholeTrees,
    ) -> None:
        self.transport = transport
        self._cache = cache
        self._providers = providers
        self._whole_trees = whole_trees

    # Reading

    def of_provider(self, context: Context, uuid: str) -> ProviderAllocInfo:
        """Return what is allocated against the provider.

        Raises ResourceProviderAllocationRetrievalFailed, and ClientException if placement is
        unreachable.
        """
        return ProviderAllocInfo(self._shown_of(context, uuid, version=None)["allocations"])

    def _shown_of(self, context: Context, uuid: str, version: str | None) -> dict[str, Any]:
        if uuid in self._cache.imagined:
            return {"allocations": {}, "resource_provider_generation": 0}
        response = self.transport.get(
            f"/resource_providers/{uuid}/allocations",
            version=version,
            global_request_id=global_id(context),
        )
        if not response:
            raise exceptions.ResourceProviderAllocationRetrievalFailed(
                rp_uuid=uuid, error=response.text
            ) from Refusal(response)
        return response.json()

    def holders_in_tree(
        self, context: Context, uuid: str, is_start: bool = False
    ) -> dict[str, Held]:
        """Return consumer → provider of `uuid` and below → what it holds of it, class → amount.

        The cache says which providers there are. At a start (`is_start`) a reshape may follow:
        where placement answers with whole trees, the answer is kept for `of_tree`, which then needs
        no request. Raises what `of_tree` raises.
        """
        found = None
        if uuid not in self._cache.imagined:
            if is_start:
                found = self._whole_trees.allocations_of(context, uuid)
                if found is not None:
                    self._cache.before_reshape[uuid] = found
            else:
                found = self._whole_trees.holdings_in(context, uuid)
        members = self._cache.tree.get_provider_uuids(uuid)
        holders: dict[str, Held] = {}
        if found is None:
            for member in members:
                for consumer, part in self.of_provider(context, member).allocations.items():
                    holders.setdefault(consumer, {})[member] = dict(part["resources"])
            return holders
        for consumer, held in found.items():
            own = held["allocations"].keys() & set(members)
            if own:
                holders[consumer] = {
                    one: dict(held["allocations"][one]["resources"]) for one in own
                }
        return holders

    def of_consumer(self, context: Context, consumer: str) -> dict[str, Any]:
        """Return all of the consumer's allocations, as placement shows them at 1.28.

        `{"allocations": {provider: {"generation", "resources"}}, "project_id", "user_id",
        "consumer_generation"}`; only `{"allocations": {}}` if there are none. Raises
        ConsumerAllocationRetrievalFailed if placement refuses, and ClientException if it is
        unreachable.
        """
        response = self.transport.get(
            f"/allocations/{consumer}",
            version=CONSUMER_GENERATION_VERSION,
            global_request_id=global_id(context),
        )
        if not response:
            raise exceptions.ConsumerAllocationRetrievalFailed(
                consumer_uuid=consumer, error=response.text
            ) from Refusal(response)
        return response.json()

    def of_each(self, context: Context, consumers: Collection[str]) -> Allocations:
        """Return the same as `of_consumer` for several consumers, with as few requests as may be.

        Raises what `of_consumer` raises.
        """
        wanted = list(consumers)
        found: Allocations = {}
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            whole = self._whole_trees.allocations_of_each(context, some)
            found |= whole or {uuid: self.of_consumer(context, uuid) for uuid in some}
        return found

    def held_by(self, context: Context, consumer: str) -> dict[str, dict[str, object]] | None:
        """Return only the `allocations`: `{}` on an HTTP error, None if unreachable."""
        try:
            return self.of_consumer(context, consumer)["allocations"]
        except ksa_exc.ClientException as lost:
            LOG.warning("Unable to read the allocations of %s: %s", consumer, lost)
            return None
        except exceptions.ConsumerAllocationRetrievalFailed as failed:
            LOG.warning("%s", failed)
            return {}

    def of_tree(self, context: Context, nodename: str) -> Allocations:
        """Return the complete allocations of every consumer of the tree of `nodename`.

        That includes what those consumers hold elsewhere: on sharing providers or, during a move,
        on other hosts. Migrations and consumers that aren't instances are consumers too. A
        consumer that holds only something of a sharing provider is missed, because nothing tells
        which of its consumers belong to this host.

        The cache says which providers there are. Raises ValueError if it doesn't know `nodename`,
        ResourceProviderAllocationRetrievalFailed, ConsumerAllocationRetrievalFailed, and
        ClientException if placement is unreachable.
        """
        node = self._cache.tree.data(nodename).uuid
        if node not in self._cache.imagined:
            # They were read at the start of this update. If they are outdated, the reshape
            # conflicts.
            whole = self._cache.before_reshape.pop(node, None)
            if whole is None:
                whole = self._whole_trees.allocations_of(context, node)
            if whole is not None:
                return whole
        # After a conflict most consumers are unchanged, as their generations show.
        version = CONSUMER_GENERATION_VERSION if self._cache.recollection.knows_consumers else None
        shown = {
            uuid: self._shown_of(context, uuid, version)
            for uuid in self._cache.tree.get_provider_uuids(nodename)
        }
        consumers = {consumer for found in shown.values() for consumer in found["allocations"]}
        allocations: Allocations = {}
        for consumer in sorted(consumers):
            body = self._cache.recollection.consumer(consumer, shown)
            if body is None:
                body = self.of_consumer(context, consumer)
            # A consumer that lost its allocations meanwhile has nothing to move.
            if body["allocations"]:
                allocations[consumer] = body
        self._cache.gathered.update(copy.deepcopy(allocations))
        return allocations

    # Writing

    def send(
        self,
        context: Context,
        consumer: str,
        payload: Mapping[str, object],
        version: str = CONSUMER_GENERATION_VERSION,
    ) -> Response:
        """PUT the consumer's allocations; log a failure and return the response."""
        response = self.transport.put(
            f"/allocations/{consumer}",
            payload,
            version=version,
            global_request_id=global_id(context),
        )
        if response.status_code != 204:
            LOG.warning(
                "Failed to save allocations of %s: %s %s",
                consumer,
                response.status_code,
                response.text,
            )
        return response

    @retries
    def put(self, context: Context, consumer: str, payload: Mapping[str, object]) -> bool:
        """Make `payload` the consumer's allocations; return whether placement took them.

        `{"allocations": {provider: {"resources": {class: amount}}}, "project_id", "user_id",
        "consumer_generation"}`, the last None for a consumer that must be new. The write is tried
        again if a provider changed meanwhile. False after four tries, and if there is no room.

        Raises AllocationUpdateFailed if the consumer changed meanwhile, and
        PlacementAPIConnectFailure if placement is unreachable.
        """
        try:
            response = self.send(context, consumer, payload)
        except ksa_exc.ClientException as lost:
            raise exceptions.PlacementAPIConnectFailure() from lost
        if response.status_code == 409 and error_code(response) == CONCURRENT_UPDATE:
            detail = error_detail(response)
            if CONSUMER_CONFLICT in detail:
                raise exceptions.AllocationUpdateFailed(consumer_uuid=consumer, error=detail)
            raise Retry("put_allocations", "a resource provider changed at the same time")
        return response.status_code == 204

    @safe_connect
    def delete(
        self,
        context: Context,
        uuid: str,
        consumer_type: str = "instance",
        force: bool = False,
    ) -> bool:
        """Remove all allocations of the consumer; return whether there were any.

        Without `force` placement refuses if the consumer changed between our read and our write.
        `consumer_type` is for the log. None if placement is unreachable. Raises
        AllocationDeleteFailed if placement refuses, and without `force`
        ConsumerAllocationRetrievalFailed if the allocations can't be read.
        """
        if force:
            response = self.transport.delete(
                f"/allocations/{uuid}", global_request_id=global_id(context)
            )
            if response.status_code == 404:
                return False
            gone = bool(response)
        else:
            current = self.of_consumer(context, uuid)
            if not current["allocations"]:
                LOG.debug("No allocations of %s %s to delete.", consumer_type, uuid)
                return False
            response = self.send(context, uuid, {**current, "allocations": {}})
            gone = response.status_code == 204
        if not gone:
            raise exceptions.AllocationDeleteFailed(
                consumer_uuid=uuid, error=response.text
            ) from Refusal(response)
        LOG.info("Deleted allocations of %s %s.", consumer_type, uuid)
        return True

    def remove_tree(self, context: Context, consumer: str, root_uuid: str) -> bool:
        """Take the providers of one tree out of the consumer's allocations.

        What the consumer holds on sharing providers and on other trees stays. False if it has no
        allocations or placement refuses; True, without a write, if none of them is in the tree.
        Raises ConsumerAllocationRetrievalFailed, ResourceProviderRetrievalFailed, and
        ClientException if placement is unreachable.
        """
        current = self.of_consumer(context, consumer)
        if not current["allocations"]:
            LOG.error("Consumer %s has no allocations to remove %s from.", consumer, root_uuid)
            return False
        tree = {row["uuid"] for row in self._providers.in_tree(context, root_uuid)}
        kept = {
            provider: {"resources": part["resources"]}
            for provider, part in current["allocations"].items()
            if provider not in tree
        }
        if len(kept) == len(current["allocations"]):
            LOG.warning("Consumer %s has no allocations in the tree of %s.", consumer, root_uuid)
            return True
        response = self.send(context, consumer, {**current, "allocations": kept})
        return response.status_code == 204
