"""Which orphans were found in two looks that are far enough apart.

A scheduler writes the allocations of an instance before this host has the instance's record. So an
orphan of one look may be an instance that is being built. It isn't if a look some time before found
it, too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from compute.maintenance.audit.audit import Orphan


class Grace:
    """Remembers since when each orphan was found in every look.

    :param seconds: how far apart two looks must be
    :param clock: seconds that never go back
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._before: dict[tuple[str, ...], float] = {}
        self._now: dict[tuple[str, ...], float] = {}

    def begin_look(self) -> None:
        """Begin a look: forget what an interrupted look before it noted."""
        self._now = {}

    def is_over(self, orphan: Orphan) -> bool:
        """Note that this look finds the orphan; say whether it was found for long enough."""
        # if its resources are others, somebody wrote them since: its time begins anew
        resources = json.dumps(orphan.resources, sort_keys=True)
        key = (orphan.consumer, orphan.provider, resources)
        since = self._now[key] = self._before.get(key, self._clock())
        return self._clock() - since >= self._seconds

    def end_look(self) -> int:
        """End the look: forget the orphans that it didn't find; return how many it found."""
        self._before, self._now = self._now, {}
        return len(self._before)
