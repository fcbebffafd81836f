"""Limit the number of requests that wait for keystone at the same time."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

#: seconds after which a validation is slow, and other requests no longer wait for its end. Under
#: load keystone takes two or three seconds; rejecting requests then would only cause retries
SLOW = 5.0


class TooManyValidations(Exception):
    """The maximum number of validations is running, and keystone is slow."""


class TokenValidations:
    """Limit on concurrent token validations, so that a slow keystone blocks some threads, not all.

    While keystone responds in time, a further validation waits for its turn. While keystone is
    slow, it is rejected at once.

    :param most: maximum number of concurrent validations
    :param clock: monotonic time in seconds
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._changed = threading.Condition()
        #: start times of the running validations
        self._begun: list[float] = []
        self._was_slow = False

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Enter a block that validates one token; wait for a turn. Raises TooManyValidations."""
        with self._changed:
            while len(self._begun) >= self._most:
                patience = self._patience()
                if patience <= 0:
                    raise TooManyValidations
                self._changed.wait(patience)
            begun = self._clock()
            self._begun.append(begun)
        try:
            yield
        finally:
            with self._changed:
                self._begun.remove(begun)
                self._was_slow = self._clock() - begun > SLOW
                self._changed.notify_all()

    def _patience(self) -> float:
        """Return for how many seconds another validation may wait."""
        return 0 if self._was_slow else min(self._begun) + SLOW - self._clock()
