"""Which orphans were found in two looks that are far enough apart.

A scheduler writes the allocations of an instance before this host has its record. What is found in
one look may be of such an instance; what another look, some time before, has found as well isn't.
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
        """Forget what a look noted that has not come to its end."""
        self._now = {}

    def is_over(self, orphan: Orphan) -> bool:
        """Note that the look finds the orphan; say whether looks have done so for long enough."""
        # with other resources, somebody has written them meanwhile
        resources = json.dumps(orphan.resources, sort_keys=True)
        key = (orphan.consumer, orphan.provider, resources)
        since = self._now[key] = self._before.get(key, self._clock())
        return self._clock() - since >= self._seconds

    def end_look(self) -> int:
        """Forget what a look that has come to its end didn't find; return how many it found."""
        self._before, self._now = self._now, {}
        return len(self._before)
