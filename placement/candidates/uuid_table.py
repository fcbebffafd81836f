"""The uuids of providers as rows of bytes, for texts that are made a table at a time."""

import numpy as np
import numpy.typing as npt

#: how long a uuid is in its usual spelling
LENGTH = 36
_FIRST_ROOM = 256


class UuidTable:
    """Grows at its end only.

    :ivar even: whether all are of the usual length; the others' rows are worth nothing
    """

    def __init__(self) -> None:
        self._rows = np.zeros((_FIRST_ROOM, LENGTH), np.uint8)
        self._count = 0
        self.even = True

    def append(self, uuid: str) -> None:
        """Add the next one."""
        if self._count == len(self._rows):
            # a new array: whoever reads the old one goes on undisturbed
            grown = np.zeros((2 * self._count, LENGTH), np.uint8)
            grown[: self._count] = self._rows
            self._rows = grown
        text = uuid.encode()
        if len(text) == LENGTH:
            self._rows[self._count] = np.frombuffer(text, np.uint8)
        else:
            self.even = False
        self._count += 1

    def rows(self) -> npt.NDArray[np.uint8]:
        """By slot; there may be more rows than uuids."""
        return self._rows
