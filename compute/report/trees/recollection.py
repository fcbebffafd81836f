"""What was read before a conflict, for the providers and consumers that didn't change since.

A provider's generation changes with its inventory, its traits and its aggregates (if they are
written at microversion 1.19 or later), and with the allocations that are written against it. A
consumer's generation changes with its allocations, until it has none. So after a conflict the
client reads again only what has another generation now. So the next try is
short enough to fit between two writes of others.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

from compute.provider_tree import ProviderData, ProviderTree
from compute.provider_tree.allocation_records import Allocations


class Recollection:
    """Providers and consumers as they were at a generation. Empty unless there was a conflict."""

    def __init__(self) -> None:
        self._providers: dict[str, ProviderData] = {}
        self._consumers: Allocations = {}

    @classmethod
    def of(
        cls, tree: ProviderTree, whole: Collection[str], allocations: Mapping[str, Any]
    ) -> Recollection:
        """Return a recollection of these allocations, and of the providers of `tree` in `whole`."""
        new = cls()
        providers = (tree.data(uuid) for uuid in tree.get_provider_uuids() if uuid in whole)
        new._providers = {one.uuid: one for one in providers}
        new._consumers = dict(allocations)
        return new

    def provider(self, uuid: str, generation: int | None) -> ProviderData | None:
        """Return the provider as it was read, if it has this generation now; else None."""
        known = self._providers.get(uuid)
        return known if known is not None and known.generation == generation else None

    def consumer(self, uuid: str, shown: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
        """Return a copy of the consumer's allocations, if they can't have been written since.

        :param shown: provider → what is allocated against it now, as placement shows it

        The consumer's generation alone proves nothing, because it begins anew once the consumer
        held nothing. But new allocations change the generation of each of their providers. So there
        are two proofs: the consumer holds nothing but what is shown, or one of its providers still
        has the generation that it had.
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
        """Say whether there are consumers whose generations are worth asking for."""
        return bool(self._consumers)
