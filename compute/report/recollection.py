"""What was read before a conflict, and is still true of what hasn't moved on since.

A provider's generation changes with its inventory, its traits and its aggregates (those that are
written at microversion 1.19 or later), and with the allocations that are written against it; a
consumer's with its allocations, until it has none. So after a conflict only what has another
generation now needs to be read again, which makes the next try so much shorter that it fits between
two writes of others.
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

    def consumer(self, uuid: str, shown: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
        """Return a copy of the consumer's allocations, if nobody can have written them since.

        :param shown: provider → what is allocated against it now, as placement shows it

        The consumer's generation alone doesn't tell: it begins anew once the consumer has held
        nothing. But then its new allocations moved the generation of each provider that they are
        of. So either it holds nothing but what is shown, or a provider that it holds of hasn't
        moved on.
        """
        known = self._consumers.get(uuid)
        if known is None:
            return None
        now = {
            provider: found["allocations"][uuid]
            for provider, found in shown.items()
            if uuid in found["allocations"]
        }
        generations = {part.get("consumer_generation") for part in now.values()}
        then = known["allocations"]
        is_same = generations == {known["consumer_generation"]} and all(
            provider in then and then[provider]["resources"] == part["resources"]
            for provider, part in now.items()
        )
        is_older = any(
            then[provider]["generation"] == shown[provider]["resource_provider_generation"]
            for provider in now.keys() & then.keys()
        )
        if not is_same or not (now.keys() == then.keys() or is_older):
            return None
        return copy.deepcopy(known)

    @property
    def knows_consumers(self) -> bool:
        """Whether it makes sense to ask for consumers' generations first."""
        return bool(self._consumers)
