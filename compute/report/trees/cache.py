"""What the report client remembers of placement (compute.md §3.5).

The cache is one ProviderTree, and for each provider the time at which its associations –
inventories, aggregates and traits – were last read.

Several threads may use one cache, each with a tree of its own; sharing providers belong to several
trees. No lock is held during a request. So another thread may forget the providers that a thread
works with, after a conflict. `working_with` makes a conflict of that, which is worth a retry.
Where a sharing provider is missing, `missing_sharing` tells that.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from oslo_config import cfg

from compute.exceptions import ProviderForgotten
from compute.provider_tree import ProviderData, ProviderSubTree, ProviderTree
from compute.provider_tree.allocation_records import Allocations

LOG = logging.getLogger(__name__)


class Recollection:
    """Providers and consumers as they were at a generation. Empty unless there was a conflict.

    A provider's generation changes with its inventory, its traits and its aggregates (if they are
    written at microversion 1.19 or later), and with the allocations that are written against it. A
    consumer's generation changes with its allocations, until it has none. So after a conflict the
    client reads again only what has another generation now, and the next try is short enough to fit
    between two writes of others.
    """

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

    def consumer(
        self, uuid: str, shown: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, object] | None:
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


class ProviderCache:
    """The last known state of providers, and the time at which each provider was read.

    :param conf: configuration with group [compute]; the refresh period is read at each use

    `tree` has the providers. `read_at` has the time at which a provider's associations were read,
    in seconds of a clock that never goes back; a provider without a time was not read whole.
    `sharing` has by root the providers that shared with the tree when it was last read or written.
    `recollection` has what was known before a conflict. `gathered` has the allocations of consumers
    as they were read for the reshape that is going on; `before_reshape` has them by root, where
    they were read whole because a reshape may follow. `imagined` has the providers that a rehearsal
    only imagines.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        #: how often something was forgotten
        self._forgotten = 0
        self.tree = ProviderTree()
        self.read_at: dict[str, float] = {}
        self.sharing: dict[str, set[str]] = {}
        self.recollection = Recollection()
        self.gathered: Allocations = {}
        self.before_reshape: dict[str, Allocations] = {}
        self.imagined: set[str] = set()

    @contextmanager
    def working_with(self, uuid: str) -> Iterator[None]:
        """Raise ProviderForgotten, a conflict, if another thread forgot a provider meanwhile."""
        before = self._forgotten
        try:
            yield
        except ValueError as missing:
            if self._forgotten == before:
                raise
            raise ProviderForgotten(
                uuid=uuid, generation=0, error=f"forgotten meanwhile: {missing}"
            ) from missing

    # Forgetting

    def clear(self, init: bool = False) -> None:
        """Forget everything, so that it is all read again; log that unless `init`."""
        if not init:
            LOG.info("Clearing the report client's provider cache.")
        self._forgotten += 1
        self.tree = ProviderTree()
        self.read_at = {}
        self.sharing = {}
        self.recollection = Recollection()
        self.gathered = {}
        self.before_reshape = {}
        self.imagined = set()

    def forget_after_conflict(self) -> None:
        """Forget everything, but keep it in `recollection` for whatever hasn't changed since."""
        recollection = Recollection.of(self.tree, set(self.read_at), self.gathered)
        self.clear()
        self.recollection = recollection

    def settled(self) -> None:
        """Drop what was kept for another try: the update is done.

        Another thread that tries again after a conflict just reads more.
        """
        self.gathered = {}
        self.before_reshape = {}
        self.recollection = Recollection()

    def forget_tree(self, uuid: str) -> None:
        """Forget the whole tree that `uuid` belongs to, if it is known; keep the other trees."""
        try:
            members = self.tree.get_provider_uuids_in_tree(uuid)
        except ValueError:
            return
        self._forgotten += 1
        with suppress(ValueError):  # another thread was quicker
            self.tree.forget(members[0])
        for member in members:
            self.read_at.pop(member, None)
            self.sharing.pop(member, None)

    def invalidate(self, name_or_uuid: str, cacheonly: bool = False) -> None:
        """Forget a provider and all below it; unknown ones are fine.

        `cacheonly` keeps the provider, which is read again the next time. The time of reading is
        kept by uuid: given a name, the time stays.
        """
        if not cacheonly:
            self._forgotten += 1
            try:
                self.tree.forget(name_or_uuid)
            except ValueError:
                LOG.debug("Provider %s was not cached.", name_or_uuid)
            self.sharing.pop(name_or_uuid, None)
        self.read_at.pop(name_or_uuid, None)

    # Keeping

    def keep_sharing(self, row: Mapping[str, Any]) -> None:
        """Put in all that placement told of a sharing provider, as a root if it is unknown."""
        self.tree.update_all(row, may_add=True)
        self.note_read(row["uuid"])

    # Sharing

    def note_sharing(self, uuid: str, sharing: Iterable[str], others: bool = False) -> None:
        """Remember which providers share with the tree of `uuid`.

        With `others` they are added to those that are remembered. Raises ValueError if the tree
        isn't known.
        """
        root = self.tree.get_provider_uuids_in_tree(uuid)[0]
        known = self.sharing.get(root, set()) if others else set()
        self.sharing[root] = known | set(sharing)

    def note_sharing_in(self, wanted: ProviderTree) -> None:
        """Remember which providers share with the one tree that shall be written."""
        if isinstance(wanted, ProviderSubTree) and len(wanted.roots) > 1:
            root = wanted.scope_rp_uuid
            members = wanted.subtree_with_sharing(root).get_provider_uuids()
            self.sharing[root] = set(members).difference(wanted.get_provider_uuids_in_tree(root))

    def missing_sharing(self, copied: ProviderTree, uuid: str) -> bool:
        """Say whether a copy lacks a provider that shared with the tree of `uuid`.

        A conflict of another node may have made the client forget it. The tree itself was read
        since, so nothing else would have it read again for long.
        """
        root = copied.get_provider_uuids_in_tree(uuid)[0]
        return not all(map(copied.exists, self.sharing.get(root, ())))

    # Rehearsing

    def imagine_root(self, name: str, uuid: str) -> None:
        """Cache a root as if placement had it."""
        if not self.tree.exists(uuid):
            self.tree.new_root(name, uuid)
        self.imagined.add(uuid)

    def stop_imagining(self, uuids: Iterable[str]) -> None:
        """Forget those of the providers that were only imagined, before they are created."""
        for uuid in self.imagined.intersection(uuids):
            self.imagined.discard(uuid)
            self.tree.forget(uuid)

    # Age

    def is_stale(self, uuid: str) -> bool:
        """Say whether the provider's associations are due to be read (again)."""
        if uuid in self.imagined:
            return False
        period = self._conf.compute.resource_provider_association_refresh
        last = self.read_at.get(uuid)
        if last is None:
            return True
        return bool(period) and time.monotonic() - last > period

    def note_read(self, uuid: str) -> None:
        """Remember that the provider's associations were read just now."""
        self.read_at[uuid] = time.monotonic()

    def note_unread(self, uuid: str) -> None:
        """Remember that some of the provider's associations are unread, so that it is stale."""
        self.read_at.pop(uuid, None)
