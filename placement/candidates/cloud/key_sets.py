"""Which traits, aggregates and classes each provider has, and which providers have one of them."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.columns import Mask, Slots
from placement.candidates.cloud.patched_array import Patched

Ids = tuple[int, ...]
#: a set of more than 1/16 of the providers is kept as bits
_CROWDED = 16


class KeySets:
    """The ids that each provider has, by slot. Equal sets are kept once: many hosts have the same.

    A change gives a new one. Three hosts, two of which have the traits 7 and 9::

        codes    1  0  1       where in `sets` the set of each slot stands
        sets     ()  (7, 9)    ascending ids
        code_of  {(): 0, (7, 9): 1}
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
        """Return the sets of some slots. Their places in `slots` are their new slots."""
        return KeySets(Patched(self._codes.take(slots)), self._sets, self._code_of)

    def changed(self, items: Mapping[int, Ids], size: int) -> "KeySets":
        """Return the sets with others for some slots, and with empty sets up to `size`."""
        sets, code_of = self._sets, self._code_of
        new = {ids: None for ids in items.values() if ids not in code_of}
        if new:
            sets = [*sets, *new]
            code_of = {**code_of, **{ids: len(self._sets) + n for n, ids in enumerate(new)}}
        codes = self._codes.grown(size, 0)
        at = np.fromiter(items, np.int64, len(items))
        values = np.fromiter((code_of[ids] for ids in items.values()), np.int64, len(items))
        return KeySets(codes.changed(at, values), sets, code_of)


class SlotSet:
    """Which providers have something: a trait, an aggregate.

    Kept as ascending slots, or as one bit for each slot where that takes less memory.
    """

    __slots__ = ("_bits", "_slots", "count")

    def __init__(self, slots: Slots, size: int) -> None:
        self.count = len(slots)
        self._slots: Slots | None = slots
        self._bits: npt.NDArray[np.uint8] | None = None
        if self.count * _CROWDED > size:
            mask = np.zeros(size, np.bool_)
            mask[slots] = True
            self._bits, self._slots = np.packbits(mask), None

    def mask(self, size: int) -> Mask:
        """Return the set as booleans by slot."""
        if self._bits is not None:
            known = np.unpackbits(self._bits).view(np.bool_)
            if len(known) >= size:
                return known[:size]
            mask = np.zeros(size, np.bool_)
            mask[: len(known)] = known
            return mask
        mask = np.zeros(size, np.bool_)
        mask[self._slots] = True
        return mask

    def slots(self) -> Slots:
        """Return the set as ascending slots."""
        if self._slots is not None:
            return self._slots
        assert self._bits is not None
        return np.flatnonzero(np.unpackbits(self._bits)).astype(np.int32)

    def holds(self, slots: Slots) -> Mask:
        """Return which of some providers are in the set."""
        if self._bits is None:
            assert self._slots is not None
            return is_among(self._slots, slots)
        # providers that are newer than the bits are not in the set
        known = np.minimum(slots >> 3, len(self._bits) - 1)
        found = (self._bits[known] >> (7 - (slots & 7))) & 1 > 0
        return found & (slots >> 3 < len(self._bits))

    def among(self, slots: Slots) -> "SlotSet":
        """Return which of some providers are in the set, by where they stand in `slots`.

        The slots 3, 5, 8 among 5, 6, 7, 8 are 0 and 3.
        """
        return SlotSet(np.flatnonzero(self.holds(slots)).astype(np.int32), len(slots))

    def changed(self, added: Iterable[int], removed: Iterable[int], size: int) -> "SlotSet":
        """Return the set with some slots added and some removed."""
        mask = self.mask(size).copy()
        mask[list(removed)] = False
        mask[list(added)] = True
        return SlotSet(np.flatnonzero(mask).astype(np.int32), size)


def is_among(ascending: Slots, slots: Slots) -> Mask:
    """Return which of the slots are among ascending ones."""
    if not len(ascending):
        return np.zeros(len(slots), np.bool_)
    at = np.minimum(np.searchsorted(ascending, slots), len(ascending) - 1)
    return ascending[at] == slots
