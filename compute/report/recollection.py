"""What was read before a conflict, and is still true of what hasn't moved on since.

A provider's generation changes with its inventory, its traits and its aggregates (those that are
written at microversion 1.19 or later), and with the allocations that are written against it; a
consumer's with its allocations. So after a conflict only what has another generation now needs to
be read again, which makes the next try so much shorter that it fits between two writes of others.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

from compute.provider_tree import ProviderData, ProviderTree


class Recollection:
    """Providers and consumers as they were at a generation. Empty unless there was a conflict."""

    def __init__(self) -> None:
        self._providers: dict[str, ProviderData] = {}
        self._consumers: dict[str, dict[str, Any]] = {}

    @classmethod
    def of(
        cls, tree: ProviderTree, whole: Collection[str], allocations: Mapping[str, Any]
    ) -> Recollection:
        """Return one of the providers of `tree` that were read whole, and of their consumers."""
        new = cls()
        providers = (tree.data(uuid) for uuid in tree.get_provider_uuids() if uuid in whole)
        new._providers = {one.uuid: one for one in providers}
        new._consumers = dict(allocations)
        return new

    def provider(self, uuid: str, generation: int | None) -> ProviderData | None:
        """Return the provider as it was, and is, if it has this generation now."""
        known = self._providers.get(uuid)
        return known if known is not None and known.generation == generation else None

    def consumer(self, uuid: str, generation: int | None) -> dict[str, Any] | None:
        """Return a copy of the consumer's allocations, if it has this generation now."""
        known = self._consumers.get(uuid)
        if known is None or generation is None or known["consumer_generation"] != generation:
            return None
        return copy.deepcopy(known)

    @property
    def knows_consumers(self) -> bool:
        """Whether it makes sense to ask for consumers' generations first."""
        return bool(self._consumers)
