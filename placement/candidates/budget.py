"""What one search may cost: time, memory, and whether the client still waits."""

import time
from collections.abc import Callable
from typing import Protocol

from placement.candidates.slots import WholeSlot

#: steps between two looks at the clock, about 2 ms: a step takes about a microsecond
_STEPS = 2_000
#: seconds between two checks whether the client is still there
_ASK_EVERY = 0.1
#: states of unfinished searches that one request may remember at a time, about 1 KiB each
_MOST_REMEMBERED = 50_000


class Searched(Protocol):
    """A tree that is searched for candidates, as messages describe it."""

    @property
    def root(self) -> WholeSlot | None:
        """Return the slot of the root in the whole cloud; None: any of several trees."""

    def options(self) -> list[tuple[str, int]]:
        """Return the suffix of each variable, and how many providers can serve it."""

    def combinations(self) -> int:
        """Return in how many ways each variable can have a provider, valid or not."""


class SearchEnded(Exception):
    """A search was ended before it was finished, so there may be more than it found."""

    def __init__(self, problem: "Searched | None" = None, count: int | None = None) -> None:
        super().__init__()
        #: what was searched when the search ended, if that is known
        self.problem = problem
        #: how many candidates there are, if that is known
        self.count = count


class OutOfTime(SearchEnded):
    """The search took longer than it may."""


class OutOfMemory(SearchEnded):
    """The search would have kept more in memory than it may."""


class Abandoned(SearchEnded):
    """The client left before the answer."""


def _stays() -> bool:
    return False


class Budget:
    """What is left for one search. Threads don't share it.

    Both bounds have to be named, so that nothing searches without bounds by accident.

    :param seconds: how long the search may take from now on; None: no bound
    :param size: how many bytes of candidates it may keep; None: no bound
    :param client_left: says whether the client is gone; asked a few times a second at most
    :param clock: seconds that never go back
    """

    def __init__(
        self,
        seconds: float | None,
        size: int | None,
        client_left: Callable[[], bool] = _stays,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds, self.size = seconds, size
        #: whether `shorten` left fewer seconds than it began with
        self.is_shortened = False
        self._client_left = client_left
        self._clock = clock
        now = clock()
        self._end = None if seconds is None else now + seconds
        self._ask_at = now + _ASK_EVERY
        #: steps until the next look at the clock
        self._steps = _STEPS
        #: bytes kept so far
        self.kept = 0
        self._memories = _MOST_REMEMBERED

    def shorten(self, seconds: float) -> None:
        """Let the search end after so many seconds from now, if it wouldn't end earlier."""
        end = self._clock() + seconds
        if self._end is None or end < self._end:
            self.seconds, self._end, self.is_shortened = seconds, end, True

    def share(self, parts: int) -> "Budget":
        """Return a budget for one of `parts` tasks, with its share of the time that is left."""
        left = None if self._end is None else max(self._end - self._clock(), 0) / parts
        return Budget(left, self.size, self._client_left, self._clock)

    def spend(self, steps: int = 1) -> None:
        """Note steps of about a microsecond. Raises OutOfTime or Abandoned."""
        self._steps -= steps
        if self._steps <= 0:
            self.look()

    def look(self) -> None:
        """Check the clock, and now and then the client. Raises OutOfTime or Abandoned."""
        self._steps = _STEPS
        now = self._clock()
        if self._end is not None and now >= self._end:
            raise OutOfTime
        if now >= self._ask_at:
            self._ask_at = now + _ASK_EVERY
            if self.is_abandoned:
                raise Abandoned

    @property
    def is_abandoned(self) -> bool:
        """Say whether the client is gone."""
        return self._client_left()

    def keep(self, size: int, problem: "Searched | None" = None) -> None:
        """Note bytes that will stay in memory until the answer is out. Raises OutOfMemory.

        :param problem: what they are kept for
        """
        self.kept += size
        if self.size is not None and self.kept > self.size:
            self.kept -= size
            raise OutOfMemory(problem)

    def has_room_for(self, size: int) -> bool:
        """Say whether as many bytes more may be kept."""
        return self.size is None or self.kept + size <= self.size

    def remember(self) -> bool:
        """Say whether one state more may be remembered; if so, it is counted."""
        if self._memories <= 0:
            return False
        self._memories -= 1
        return True

    def forget(self, count: int) -> None:
        """Take back so many calls of `remember`."""
        self._memories += count


class TooManyToCount(Exception):
    """Counting would take too long, or too much memory."""


class Allowance:
    """How many states may be looked at to count the solutions of all problems of one request."""

    def __init__(self, states: int) -> None:
        self._states = states

    def use(self) -> None:
        """Use one state. Raises TooManyToCount when none is left."""
        self._states -= 1
        if self._states < 0:
            raise TooManyToCount
