"""How many requests may wait for keystone at the same time."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

#: seconds from which on a validation is slow, and nobody waits behind it; under load keystone takes
#: two or three, and whoever were refused then would mostly only ask again
SLOW = 5.0


class TooManyValidations(Exception):
    """As many validations as may be are under way, and keystone is slow."""


class Validations:
    """Bounds the token validations under way, so that a slow keystone takes some threads, not all.

    While keystone answers in time, one more waits for its turn. Otherwise it is refused at once.

    :param most: under way at the same time
    :param clock: seconds that never go back
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._changed = threading.Condition()
        #: when those under way began
        self._begun: list[float] = []
        self._was_slow = False

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Validate meanwhile. Raises TooManyValidations."""
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
        """Seconds for which another one may wait."""
        return 0 if self._was_slow else min(self._begun) + SLOW - self._clock()
