"""Moving inventory and its allocations in one atomic `POST /reshaper` (compute.md §3.9.3)."""

from __future__ import annotations

import logging
from typing import Any

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations
from compute.report.trees.cache import ProviderCache
from compute.report.trees.properties import Properties
from compute.report.wire.context import Context
from compute.report.wire.failures import Refusal
from compute.report.wire.transport import (
    CONCURRENT_UPDATE,
    NOT_DONE,
    Transport,
    error_code,
    global_id,
)
from compute.report.wire.unreachable import never_sent, reached

LOG = logging.getLogger(__name__)

RESHAPER_VERSION = "1.30"

#: provider uuid → `{"inventories": …, "resource_provider_generation": …}`
Inventories = dict[str, dict[str, Any]]


class Reshaper:
    """Sends reshapes."""

    def __init__(self, transport: Transport, cache: ProviderCache, properties: Properties) -> None:
        self.transport = transport
        self._cache = cache
        self._properties = properties

    def ask_permission(self, context: Context) -> None:
        """Ask for a reshape of nothing: who may not reshape shall know before other writes.

        Placement looks at the user first, and then finds the request empty (400).

        Raises ReshapeFailed if placement refuses it, and ClientException if it is unreachable.
        """
        nothing: dict[str, Any] = {"inventories": {}, "allocations": {}}
        response = self.transport.post(
            "/reshaper", nothing, version=RESHAPER_VERSION, global_request_id=global_id(context)
        )
        if not response and response.status_code != 400:
            raise exceptions.ReshapeFailed(error=response.text) from Refusal(response)

    def reshape(self, context: Context, inventories: Inventories, allocations: Allocations) -> None:
        """Have placement store all of `inventories` and `allocations` at once.

        Raises PlacementReshapeConflict if a provider or consumer changed since it was read; then
        the cache is empty, and the caller may start over. Raises ReshapeUnanswered if the request
        was sent and may have been carried out. Raises ReshapeFailed for all else, an unreachable
        placement included. The last two leave the cache as it is.
        """
        try:
            classes = {name for record in inventories.values() for name in record["inventories"]}
            reached(
                self.transport, lambda: self._properties.ensure_resource_classes(context, classes)
            )
        except Exception as failure:
            raise exceptions.ReshapeFailed(error=failure) from failure
        try:
            response = self.transport.post(
                "/reshaper",
                {"inventories": inventories, "allocations": allocations},
                version=RESHAPER_VERSION,
                global_request_id=global_id(context),
            )
        except Exception as failure:
            kind = exceptions.ReshapeFailed if never_sent(failure) else exceptions.ReshapeUnanswered
            raise kind(error=failure) from failure
        if response:
            LOG.info("Reshaped %s.", ", ".join(inventories))
            return
        if response.status_code == 409 and error_code(response) == CONCURRENT_UPDATE:
            LOG.info("Another writer was quicker than the reshape: %s", response.text)
            self._cache.forget_after_conflict()
            raise exceptions.PlacementReshapeConflict(error=response.text)
        if response.status_code >= 500 and NOT_DONE not in response.text:
            told = f"{response.status_code} {response.text}"
            raise exceptions.ReshapeUnanswered(error=told) from Refusal(response)
        raise exceptions.ReshapeFailed(error=response.text) from Refusal(response)
