"""Writers that don't append to the change feed: OpenStack Placement beside us.

While they may write, each search first looks at the providers' generations (architecture.rst D4).
"""

import math
import time
from collections.abc import Callable
from typing import Final

#: values of [berth]beside_reference
AUTO: Final = "auto"
ALWAYS: Final = "always"
NEVER: Final = "never"
#: seconds for which searches look at the generations after a write by others
WATCHED = 3600.0


class OtherWriters:
    """Whether others may write to the database now.

    :param beside: AUTO: they may for an hour after a write of theirs was seen; ALWAYS; NEVER
    :param clock: seconds that never go back
    """

    def __init__(self, beside: str = AUTO, clock: Callable[[], float] = time.monotonic) -> None:
        self._beside = beside
        self._clock = clock
        self._seen = -math.inf
        #: whether a write was noticed since other workers were told of one
        self.is_untold = False

    @property
    def may_write(self) -> bool:
        """Say whether a search has to look at the generations."""
        if self._beside == AUTO:
            return self._clock() - self._seen < WATCHED
        return self._beside == ALWAYS

    @property
    def is_automatic(self) -> bool:
        """Say whether what is seen of others decides if they may write."""
        return self._beside == AUTO

    @property
    def are_considered(self) -> bool:
        """Say whether there may be others at all."""
        return self._beside != NEVER

    def seen(self) -> bool:
        """Note a write by others; return whether that makes searches look from now on."""
        self.is_untold = self.is_automatic
        return self.heard()

    def heard(self) -> bool:
        """Note that others may write, as another worker or a hint says; return as `seen`."""
        news = self.is_automatic and not self.may_write
        self._seen = self._clock()
        return news
