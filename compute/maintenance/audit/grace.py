"""What was found in two looks that are far enough apart.

A scheduler writes the allocations of an instance before this host has the instance's record. So an
orphan of one look may be an instance that is being built, and a guest that holds less or more than
it should one that its agent is about to write. They aren't if an earlier look found them, too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from compute.maintenance.audit.audit import Orphan
from compute.maintenance.audit.misfits import MisfitGuest


class Grace:
    """Remembers since when each orphan, and each misfit guest, is in every look.

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

    def is_over(self, found: Orphan | MisfitGuest) -> bool:
        """Note that this look finds it; say whether it was found for long enough."""
        # if its resources are others, somebody wrote them since: its time begins anew
        if isinstance(found, Orphan):
            key = (found.consumer, found.provider, json.dumps(found.resources, sort_keys=True))
        else:
            misfit = found.misfit
            amounts = [dict(misfit.lacking), dict(misfit.surplus)]
            key = (found.instance.uuid, "", json.dumps(amounts, sort_keys=True))
        since = self._now[key] = self._before.get(key, self._clock())
        return self._clock() - since >= self._seconds

    def end_look(self) -> int:
        """End the look: forget what it didn't find; return how much it found."""
        self._before, self._now = self._now, {}
        return len(self._before)
