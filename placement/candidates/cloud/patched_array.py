"""Long arrays of integers, of which a change copies only what changed lately.

The usage of a million inventories takes megabytes, and each claim changes a few of them. A snapshot
never changes, so each claim would copy the array. Instead, changes are kept beside the array::

    base    5 0 3 0 …      as laid out some changes ago; shared by many snapshots
    at      0 3            the places of the changes, ascending
    values  6 1            so the numbers are 6 0 3 1 …
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.integer[Any]]

#: with more changes than this, a new base is laid out
_MANY = 1_000
_NOWHERE = np.zeros(0, np.int64)
_SMALL = np.iinfo(np.int32)


def narrow(numbers: Integers) -> Integers:
    """Return the numbers in 32 bits if they have room there, else in 64."""
    if not len(numbers) or (numbers.min() >= _SMALL.min and numbers.max() <= _SMALL.max):
        return numbers.astype(np.int32, copy=False)
    return numbers.astype(np.int64, copy=False)


class Patched:
    """Integers, and those that changed since they were laid out. A change gives a new one.

    :param base: as they were laid out; never written to
    :param at: the places of changes, ascending; `values` runs parallel
    """

    __slots__ = ("_at", "_base", "_values", "_whole")

    def __init__(
        self, base: Integers, at: Integers = _NOWHERE, values: Integers = _NOWHERE
    ) -> None:
        self._base, self._at, self._values = base, at, values
        self._whole: Integers | None = None if len(at) else base

    @classmethod
    def of(cls, numbers: Integers) -> "Patched":
        """Lay out numbers, in as few bytes as they need."""
        return cls(narrow(numbers))

    def __len__(self) -> int:
        return len(self._base)

    @property
    def nbytes(self) -> int:
        """How many bytes the numbers take."""
        return self._base.nbytes + self._at.nbytes + self._values.nbytes

    def whole(self) -> Integers:
        """Return all numbers; the array must not be written to."""
        whole = self._whole
        if whole is None:
            whole = self._base.astype(np.result_type(self._base, narrow(self._values)))
            whole[self._at] = self._values
            self._whole = whole
        return whole

    def take(self, places: Integers) -> Integers:
        """Return some of the numbers, in the shape of `places`."""
        if self._whole is not None:
            return self._whole[places]
        found = self._base[places].astype(np.int64)
        at = np.minimum(np.searchsorted(self._at, places), len(self._at) - 1)
        return np.where(self._at[at] == places, self._values[at], found)

    def changed(self, at: Integers, values: Integers) -> "Patched":
        """Return the numbers with others at some places, each of which is named once."""
        if not len(at):
            return self
        base, known_at, known = self._base, self._at, self._values
        if self._whole is not None:
            base, known_at, known = self._whole, _NOWHERE, _NOWHERE
        kept = ~np.isin(known_at, at)
        all_at = np.concatenate([known_at[kept], np.asarray(at, np.int64)])
        order = np.argsort(all_at)
        all_values = np.concatenate([known[kept], np.asarray(values, np.int64)])
        new = Patched(base, all_at[order], all_values[order])
        return new if len(order) <= _MANY else Patched(new.whole())

    def grown(self, size: int, filler: int) -> "Patched":
        """Return the numbers with more at the end, so that there are `size`."""
        if size <= len(self):
            return self
        whole = self.whole()
        more = np.full(size - len(self), filler, whole.dtype)
        return Patched(np.concatenate([whole, more]))
