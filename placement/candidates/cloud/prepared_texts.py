"""Ready-made pieces of JSON by slot, joined a block at a time.

A block is 256 slots. The text of the slot 1000 is the text 232 of the block 3. A long answer shows
all providers of most blocks. Such a block is joined to one text once, and then kept.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from placement.candidates.cloud.columns import Numbers, Slots

SEPARATOR = b", "
_SHIFT = 8
_LOW = (1 << _SHIFT) - 1
#: fewer texts than this are looked up one by one
_FEW = 64


class PreparedTexts:
    """Texts that are written when they are first wanted and kept until they change.

    A change gives new texts that share all blocks it doesn't touch. Where all of a block is wanted,
    as in long answers, the block is kept as one text.
    """

    __slots__ = ("_blocks", "_joined", "size")

    def __init__(
        self, blocks: dict[int, list[bytes | None]], joined: list[bytes | None], size: int
    ) -> None:
        self._blocks = blocks
        self._joined = joined
        self.size = size

    @classmethod
    def unwritten(cls, size: int) -> "PreparedTexts":
        """Return texts for so many slots, none of them written yet."""
        count = number_of_blocks(size)
        return cls({}, [None] * count, size)

    def forgetting(self, slots: Iterable[int], size: int) -> "PreparedTexts":
        """Return the texts without those of some slots, with room for `size` slots."""
        blocks, joined = dict(self._blocks), list(self._joined)
        joined += [None] * (number_of_blocks(size) - len(joined))
        copied: set[int] = set()
        for slot in slots:
            number = slot >> _SHIFT
            block = blocks.get(number)
            joined[number] = None
            if block is None:
                continue
            if number not in copied:
                blocks[number] = block = list(block)
                copied.add(number)
            block[slot & _LOW] = None
        return PreparedTexts(blocks, joined, size)

    def of(
        self, slots: Slots, whole: Numbers, write: Callable[[list[int]], Sequence[bytes]]
    ) -> list[bytes]:
        """Return the texts of some slots, one or many at a time; SEPARATOR belongs between them.

        :param slots: ascending
        :param whole: how many slots of each block may ever be wanted; if all of them are, they come
            as one text
        :param write: writes the texts of slots that aren't known yet
        """
        if len(slots) < _FEW:
            return self.each(slots.tolist(), write)
        numbers = slots >> _SHIFT
        begins = np.flatnonzero(np.diff(numbers, prepend=-1))
        ends = np.append(begins[1:], len(slots))
        numbers = numbers[begins]
        complete = (ends - begins) == whole[numbers]
        found: list[bytes] = []
        for number, begin, end, all_of_it in zip(
            numbers.tolist(), begins.tolist(), ends.tolist(), complete.tolist(), strict=True
        ):
            joined = self._joined[number] if all_of_it else None
            if joined is not None:
                found.append(joined)
                continue
            texts = self.each(slots[begin:end].tolist(), write)
            if all_of_it:
                joined = self._joined[number] = SEPARATOR.join(texts)
                found.append(joined)
            else:
                found += texts
        return found

    def each(self, slots: list[int], write: Callable[[list[int]], Sequence[bytes]]) -> list[bytes]:
        """Return the texts of some slots, in their order."""
        blocks = [self._block(slot >> _SHIFT) for slot in slots]
        known = [block[slot & _LOW] for block, slot in zip(blocks, slots, strict=True)]
        missing = [slot for slot, text in zip(slots, known, strict=True) if text is None]
        if missing:
            for slot, text in zip(missing, write(missing), strict=True):
                self._block(slot >> _SHIFT)[slot & _LOW] = text
            known = [block[slot & _LOW] for block, slot in zip(blocks, slots, strict=True)]
        return [text for text in known if text is not None]

    def _block(self, number: int) -> list[bytes | None]:
        """Return a block, which is made when it is first wanted."""
        block = self._blocks.get(number)
        if block is None:
            # another thread may make it at the same time: `setdefault` gives both the same one
            block = self._blocks.setdefault(number, [None] * (_LOW + 1))
        return block


def number_of_blocks(size: int) -> int:
    """Return how many blocks so many slots take."""
    return -(-size >> _SHIFT)


def in_blocks(mask: Numbers) -> Numbers:
    """Return how many slots of each block a mask has."""
    padded = np.zeros(number_of_blocks(len(mask)) << _SHIFT, np.bool_)
    padded[: len(mask)] = mask
    return padded.reshape(-1, _LOW + 1).sum(axis=1)
