"""How long an update of a node goes on while others keep changing the same providers.

See compute.md §4.6.

Each allocation anybody writes moves its providers' generations on, and a reshape needs all of its
providers to be still for as long as it takes to read them and to send it. So the first tries come
at once, for what came between was most likely a single write. Then there are pauses, of random
length, so that hosts that started together don't meet each time. In the end there is a deadline,
for what changes for so long won't stop.
"""

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from oslo_config import cfg

from compute import exceptions

LOG = logging.getLogger(__name__)

#: tries without a pause
ATTEMPTS = 4

# Longest pause, in seconds: the first one, and any. Steady writers are not gone after a longer one,
# it only leaves fewer tries before the deadline.
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 0.5

_R = TypeVar("_R")

_CHANGED = (
    exceptions.ResourceProviderUpdateConflict,
    exceptions.ResourceProviderCreationConflict,
    exceptions.ResourceProviderVanished,
    exceptions.PlacementReshapeConflict,
)


@dataclass(frozen=True)
class Patience:
    """Says how often something is tried that others may get in the way of.

    :param seconds: no try is begun later than this; 0: there are ATTEMPTS tries, and no pauses
    """

    seconds: float
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def configured(cls, conf: cfg.ConfigOpts) -> "Patience":
        """Return what `[berth]conflict_retry_time` says."""
        return cls(conf.berth.conflict_retry_time)

    def until_undisturbed(self, attempt: Callable[[], _R], what: str) -> _R:
        """Return what `attempt` returns once no other writer got in its way.

        Raises the last conflict, a PlacementAPIConflict. A
        provider that can't be created, and isn't known to be made by another writer of the tree
        just now, may have a name that another provider has for good: ATTEMPTS tries must do for
        it. Raises ResourceProviderCreationFailed then.
        """
        deadline = self.clock() + self.seconds
        tries = 0
        while True:
            tries += 1
            try:
                return attempt()
            except _CHANGED as conflict:
                # The usual way: each allocation changes the generation of its providers.
                LOG.debug("Updating %s again: %s", what, conflict)
                if tries < ATTEMPTS:
                    continue
                pause = _pause(tries - ATTEMPTS)
                if self.clock() + pause >= deadline:
                    LOG.warning(
                        "Gave up on %s after %d tries: others keep changing it", what, tries
                    )
                    raise
                self.sleep(pause)
            except exceptions.ResourceProviderCreationFailed as failure:
                if tries >= ATTEMPTS:
                    raise
                LOG.debug("Updating %s again: %s", what, failure)


def _pause(number: int) -> float:
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(number, 10))
    return random.uniform(0, longest)
