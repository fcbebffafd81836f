"""Claiming, moving and adjusting what an instance holds (compute.md §3.10)."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from typing import Any

import microversion_parse
from requests import Response

from compute import exceptions
from compute.provider_tree.allocation_records import Held, ProviderAmounts
from compute.report.consumers.allocations import (
    CONSUMER_CONFLICT,
    CONSUMER_GENERATION_VERSION,
    ConsumerAllocations,
)
from compute.report.wire.context import Context
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

#: provider uuid → `{"resources": {class: amount}}`, as nova's callers have it, or class → amount
GivenAmounts = Mapping[str, Mapping[str, Any]]


class InstanceAllocations:
    """Changing what consumers hold."""

    def __init__(self, transport: Transport, allocations: ConsumerAllocations) -> None:
        self.transport = transport
        self._allocations = allocations

    @safe_connect
    @retries
    def claim(
        self,
        context: Context,
        consumer: str,
        alloc_request: Mapping[str, Any],
        project_id: str,
        user_id: str,
        allocation_request_version: str,
        consumer_generation: int | None = None,
    ) -> bool:
        """Give the consumer what `alloc_request` asks for; return whether placement did.

        `alloc_request` is one of the `allocation_requests` of `get_allocation_candidates`;
        `allocation_request_version` is the version of that answer. A consumer that has
        allocations is being moved: it keeps all of them, and gets those of the request that are on
        providers that it doesn't use yet. So a provider that both hosts share isn't counted twice.
        None if placement is unreachable.

        Raises AllocationUpdateFailed if the consumer changed meanwhile, and
        ConsumerAllocationRetrievalFailed.
        """
        payload = copy.deepcopy(dict(alloc_request))
        payload.update(project_id=project_id, user_id=user_id)
        current = self._allocations.of_consumer(context, consumer)
        if current["allocations"]:
            payload["allocations"] = {**payload["allocations"], **_bare(current)}
            consumer_generation = current["consumer_generation"]
        if _knows_consumer_generations(allocation_request_version):
            payload.setdefault("consumer_generation", consumer_generation)
        else:
            payload.pop("consumer_generation", None)
        response = self._allocations.send(
            context, consumer, payload, version=allocation_request_version
        )
        _raise_for_conflict(response, "claim resources", consumer)
        return response.status_code == 204

    @safe_connect
    @retries
    def move(self, context: Context, source_consumer: str, target_consumer: str) -> bool:
        """Give the target what the source holds, in one request; return whether the target has it.

        True also if that was done before: the source has nothing and the target something. False
        if neither has anything, or placement refuses. None if placement is unreachable.

        Raises AllocationMoveFailed if a consumer changed meanwhile, and
        ConsumerAllocationRetrievalFailed.
        """
        source = self._allocations.of_consumer(context, source_consumer)
        target = self._allocations.of_consumer(context, target_consumer)
        if not source["allocations"]:
            if not target["allocations"]:
                LOG.warning("Neither %s nor %s has allocations.", source_consumer, target_consumer)
            return bool(target["allocations"])
        payload = {
            source_consumer: {**source, "allocations": {}},
            target_consumer: {
                "allocations": _bare(source),
                "project_id": source["project_id"],
                "user_id": source["user_id"],
                "consumer_generation": target.get("consumer_generation"),
            },
        }
        response = self.transport.post(
            "/allocations",
            payload,
            version=CONSUMER_GENERATION_VERSION,
            global_request_id=global_id(context),
        )
        if response.status_code != 204:
            if response.status_code == 409 and CONSUMER_CONFLICT in error_detail(response):
                raise exceptions.AllocationMoveFailed(
                    source_consumer=source_consumer,
                    target_consumer=target_consumer,
                    error=error_detail(response),
                )
            _raise_for_conflict(response, "move allocations", source_consumer)
            LOG.warning(
                "Unable to move the allocations of %s to %s: %s",
                source_consumer,
                target_consumer,
                response.text,
            )
        return response.status_code == 204

    def add(self, context: Context, consumer: str, resources: GivenAmounts) -> None:
        """Add `resources` to what the consumer holds.

        Raises AllocationUpdateFailed if it holds nothing or placement refuses,
        ConsumerAllocationRetrievalFailed, and ClientException if placement is unreachable.
        """
        self._adjust(context, consumer, _amounts(resources), _plus)

    def remove(self, context: Context, consumer: str, resources: GivenAmounts) -> None:
        """Take `resources` away from what the consumer holds.

        Raises AllocationUpdateFailed if it holds less, or placement refuses,
        ConsumerAllocationRetrievalFailed, and ClientException if placement is unreachable.
        """
        self._adjust(context, consumer, _amounts(resources), _minus)

    def _adjust(
        self,
        context: Context,
        consumer: str,
        resources: ProviderAmounts,
        change: Callable[[Held, ProviderAmounts], None],
    ) -> None:
        if resources and not self._try_to_adjust(context, consumer, resources, change):
            raise exceptions.AllocationUpdateFailed(
                consumer_uuid=consumer,
                error="the consumer or its providers keep changing at the same time",
            )

    @retries
    def _try_to_adjust(
        self,
        context: Context,
        consumer: str,
        resources: ProviderAmounts,
        change: Callable[[Held, ProviderAmounts], None],
    ) -> bool:
        current = self._allocations.of_consumer(context, consumer)
        held = {rp: part["resources"] for rp, part in current["allocations"].items()}
        try:
            if not held:
                raise ValueError("it has no allocations")
            change(held, resources)
        except ValueError as impossible:
            raise exceptions.AllocationUpdateFailed(
                consumer_uuid=consumer, error=str(impossible)
            ) from impossible
        wanted = {rp: {"resources": part} for rp, part in held.items()}
        response = self._allocations.send(context, consumer, {**current, "allocations": wanted})
        if response.status_code == 409 and error_code(response) == CONCURRENT_UPDATE:
            # The next attempt reads both again.
            raise Retry("update allocations", "the consumer or a resource provider changed")
        if response.status_code != 204:
            raise exceptions.AllocationUpdateFailed(consumer_uuid=consumer, error=response.text)
        return True


def _bare(body: Mapping[str, Any]) -> dict[str, object]:
    """Return the allocations of an answer without the generations of their providers."""
    return {rp: {"resources": part["resources"]} for rp, part in body["allocations"].items()}


def _knows_consumer_generations(version: str) -> bool:
    return microversion_parse.parse_version_string(version) >= (1, 28)


def _raise_for_conflict(response: Response, operation: str, consumer: str) -> None:
    """Raise Retry if a provider changed meanwhile, AllocationUpdateFailed if the consumer did."""
    if response.status_code != 409 or error_code(response) != CONCURRENT_UPDATE:
        return
    detail = error_detail(response)
    if CONSUMER_CONFLICT in detail:
        raise exceptions.AllocationUpdateFailed(consumer_uuid=consumer, error=detail)
    raise Retry(operation, "a resource provider changed at the same time")


def _amounts(resources: GivenAmounts) -> ProviderAmounts:
    return {rp: part.get("resources", part) for rp, part in resources.items()}


def _plus(held: Held, resources: ProviderAmounts) -> None:
    for provider, amounts in resources.items():
        part = held.setdefault(provider, {})
        for name, amount in amounts.items():
            part[name] = part.get(name, 0) + amount


def _minus(held: Held, resources: ProviderAmounts) -> None:
    """Subtract; amounts of 0 are left out. Raises ValueError if there isn't that much."""
    for provider, amounts in resources.items():
        for name, amount in amounts.items():
            left = held.get(provider, {}).get(name, 0) - amount
            if provider not in held or name not in held[provider] or left < 0:
                raise ValueError(f"it holds less than {amount} {name} of provider {provider}")
            held[provider][name] = left
            if not left:
                del held[provider][name]
        if not held.get(provider):
            held.pop(provider, None)
