"""What the report client remembers of placement (compute.md §3.5).

One ProviderTree, and per provider the time at which its associations – inventories, aggregates
and traits – were last read.

Several threads may use it, each with a tree of its own; sharing providers belong to several. No
lock is held over a request, so a thread may find that another one forgot what it was working with,
after a conflict or all of it: `working_with` makes a conflict of that, which is worth a retry.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from oslo_config import cfg

from compute.exceptions import ResourceProviderUpdateConflict
from compute.provider_tree import ProviderTree
from compute.report.recollection import Recollection

LOG = logging.getLogger(__name__)


class ProviderCache:
    """The last known picture of placement, and when each part of it goes stale."""

    _conf: cfg.ConfigOpts
    _provider_tree: ProviderTree
    _association_refresh_time: dict[str, float]
    _recollection: Recollection
    #: consumer → allocations, as they were read for the reshape that is going on
    _gathered: dict[str, dict[str, Any]]
    #: how often something was forgotten
    _forgotten = 0

    @contextmanager
    def working_with(self, uuid: str) -> Iterator[None]:
        """Raise ResourceProviderUpdateConflict for a provider that another thread forgot."""
        before = self._forgotten
        try:
            yield
        except ValueError as missing:
            if self._forgotten == before:
                raise
            raise ResourceProviderUpdateConflict(
                uuid=uuid, generation=0, error=f"forgotten meanwhile: {missing}"
            ) from missing

    def clear_provider_cache(self, init: bool = False) -> None:
        """Forget everything, so that the next run reads it all again."""
        if not init:
            LOG.info("Clearing the report client's provider cache.")
        self._forgotten += 1
        self._provider_tree = ProviderTree()
        self._association_refresh_time = {}
        self._recollection = Recollection()
        self._gathered = {}

    def forget_after_conflict(self) -> None:
        """Forget everything, but recollect it for what turns out not to have changed since."""
        whole = set(self._association_refresh_time)
        recollection = Recollection.of(self._provider_tree, whole, self._gathered)
        self.clear_provider_cache()
        self._recollection = recollection

    def settled(self) -> None:
        """Drop what was kept for another try: there is nothing left to do.

        Another thread that is about to try again just reads more.
        """
        self._gathered = {}
        self._recollection = Recollection()

    def _clear_provider_cache_for_tree(self, uuid: str) -> None:
        """Forget the whole tree that `uuid` belongs to, if it is known; keep the other trees."""
        try:
            members = self._provider_tree.get_provider_uuids_in_tree(uuid)
        except ValueError:
            return
        self._forgotten += 1
        with suppress(ValueError):  # another thread was quicker
            self._provider_tree.forget(members[0])
        for member in members:
            self._association_refresh_time.pop(member, None)

    def invalidate_resource_provider(self, name_or_uuid: str, cacheonly: bool = False) -> None:
        """Forget a provider and all below it; unknown ones are fine.

        `cacheonly` keeps it and only lets it be read again the next time. The time is kept by
        uuid: given a name, it stays.
        """
        if not cacheonly:
            self._forgotten += 1
            try:
                self._provider_tree.forget(name_or_uuid)
            except ValueError:
                LOG.debug("Provider %s was not cached.", name_or_uuid)
        self._association_refresh_time.pop(name_or_uuid, None)

    def _associations_stale(self, uuid: str) -> bool:
        """Whether the provider's associations are due to be read (again)."""
        period = self._conf.compute.resource_provider_association_refresh
        last = self._association_refresh_time.get(uuid, 0)
        if not period and last:
            return False
        return time.time() - last > period

    def _associations_read(self, uuid: str) -> None:
        self._association_refresh_time[uuid] = time.time()
