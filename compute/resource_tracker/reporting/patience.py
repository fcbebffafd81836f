"""How long an update of a node goes on while others keep changing the same providers.

See compute.md §4.6.

Each write of an allocation changes the generation of its providers. A reshape succeeds only if no
other writer changes any of its providers between the read and the request. So the first tries
follow at once: most likely a single write came between. Then there are pauses of random length, so
that hosts that started together don't collide each time. In the end there is a deadline: providers
that change for so long won't stop changing.
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

# The longest first pause, and the longest pause of all, in seconds. Longer ones gain nothing:
# writers that go on steadily outlast them, and fewer tries fit before the deadline.
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
    """Says for how long a change is tried again while other writers disturb it.

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
        """Return what `attempt` returns once no other writer disturbs it.

        Raises the last conflict, a PlacementAPIConflict, when the time is up. Raises
        ResourceProviderCreationFailed after ATTEMPTS tries: the provider's name may belong to
        another provider for good.
        """
        deadline = self.clock() + self.seconds
        tries = 0
        while True:
            tries += 1
            try:
                return attempt()
            except _CHANGED as conflict:
                # This is common: each allocation changes the generation of its providers.
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
