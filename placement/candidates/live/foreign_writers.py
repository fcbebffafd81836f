"""Others that write to the tables and don't append to the change feed, as OpenStack Placement does.

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
#: for so many seconds after a write by others was noticed, searches look at the generations
WATCHED = 3600.0


class OtherWriters:
    """Whether others may write to the database now, as far as this process knows.

    :param beside: AUTO: for an hour after a write of theirs was noticed; ALWAYS; NEVER
    :param clock: seconds that never go back
    """

    def __init__(self, beside: str = AUTO, clock: Callable[[], float] = time.monotonic) -> None:
        self._beside = beside
        self._clock = clock
        #: when this process last learned of a write by others
        self._seen = -math.inf
        #: whether this process noticed a write that it hasn't told the other workers of
        self.is_untold = False

    @property
    def may_write(self) -> bool:
        """Say whether a search has to look at the generations."""
        if self._beside == AUTO:
            return self._clock() - self._seen < WATCHED
        return self._beside == ALWAYS

    @property
    def is_automatic(self) -> bool:
        """Say whether it depends on noticed writes if others may write."""
        return self._beside == AUTO

    @property
    def are_considered(self) -> bool:
        """Say whether there may be others at all."""
        return self._beside != NEVER

    def seen(self) -> bool:
        """Note that this process noticed a write by others; return what `heard` returns."""
        self.is_untold = self.is_automatic
        return self.heard()

    def heard(self) -> bool:
        """Note that others write; return whether searches begin to look because of that."""
        is_new = self.is_automatic and not self.may_write
        self._seen = self._clock()
        return is_new
