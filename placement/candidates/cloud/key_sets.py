"""Which keys each provider has: its traits, its aggregates, its classes."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.patched_array import Patched

Ids = tuple[int, ...]


class KeySets:
    """The ids that each provider has, by slot. Equal sets are kept once: many hosts have the same.

    A change gives a new one.

    :param codes: where in `sets` the set of each slot stands
    :param sets: ascending ids
    """

    __slots__ = ("_code_of", "_codes", "_sets")

    def __init__(self, codes: Patched, sets: Sequence[Ids], code_of: Mapping[Ids, int]) -> None:
        self._codes, self._sets, self._code_of = codes, sets, code_of

    @classmethod
    def of(cls, having: Mapping[int, Slots], size: int) -> "KeySets":
        """Build the sets from the slots that have each key."""
        codes = np.zeros(size, np.int32)
        sets: list[Ids] = [()]
        code_of: dict[Ids, int] = {(): 0}
        for key in sorted(having):
            slots = having[key]
            known, which = np.unique(codes[slots], return_inverse=True)
            new = np.zeros(len(known), np.int32)
            for number, code in enumerate(known.tolist()):
                ids = (*sets[code], key)
                new[number] = code_of.setdefault(ids, len(sets))
                if new[number] == len(sets):
                    sets.append(ids)
            codes[slots] = new[which]
        return cls(Patched(codes), sets, code_of)

    @property
    def size(self) -> int:
        """How many slots there are."""
        return len(self._codes)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return self._codes.nbytes + 100 * len(self._sets)

    def __getitem__(self, slot: int) -> Ids:
        return self._sets[int(self._codes.take(np.array(slot)))]

    def take(self, slots: Sequence[int] | Slots) -> list[Ids]:
        """Return the sets of several slots."""
        codes = self._codes.take(np.asarray(slots, np.int64))
        return [self._sets[code] for code in codes.tolist()]

    def keys_of(self, slots: Slots) -> tuple[Slots, npt.NDArray[np.int64]]:
        """Return all pairs of these slots and their keys, as two arrays."""
        codes = self._codes.take(slots)
        lengths = np.fromiter(map(len, self._sets), np.int64, len(self._sets))
        counts = lengths[codes]
        ends = np.cumsum(lengths)
        flat = np.fromiter((key for ids in self._sets for key in ids), np.int64, int(ends[-1]))
        first = np.cumsum(counts) - counts
        within = np.arange(int(counts.sum())) - np.repeat(first, counts)
        at = np.repeat((ends - lengths)[codes], counts) + within
        return np.repeat(slots, counts), flat[at]

    def among(self, slots: Slots) -> "KeySets":
        """Return the sets of some slots, by their places in `slots`."""
        return KeySets(Patched(self._codes.take(slots)), self._sets, self._code_of)

    def changed(self, items: Mapping[int, Ids], size: int) -> "KeySets":
        """Return them with other sets of some slots, and with empty sets up to `size`."""
        sets, code_of = self._sets, self._code_of
        new = {ids: None for ids in items.values() if ids not in code_of}
        if new:
            sets = [*sets, *new]
            code_of = {**code_of, **{ids: len(self._sets) + n for n, ids in enumerate(new)}}
        codes = self._codes.grown(size, 0)
        at = np.fromiter(items, np.int64, len(items))
        values = np.fromiter((code_of[ids] for ids in items.values()), np.int64, len(items))
        return KeySets(codes.changed(at, values), sets, code_of)
