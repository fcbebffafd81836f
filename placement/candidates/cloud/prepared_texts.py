"""Ready-made pieces of JSON by slot, joined a block at a time.

A block is 256 slots. The text of the slot 1000 is the text 232 of the block 3. A long answer shows
all providers of most blocks. Such a block is joined to one text once, and then kept.

A list of providers shows the name and the generation of each, which no search needs. So they aren't
loaded with the snapshot, but read when a provider is first listed, and remembered as long as it
doesn't change. A *form* is what a client asked for: the same provider looks different in another
microversion.
"""

import datetime
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from placement.candidates.cloud.columns import Numbers, Slots

SEPARATOR = b", "
_SHIFT = 8
_LOW = (1 << _SHIFT) - 1
#: fewer texts than this are looked up one by one
_FEW = 64
#: providers that one form remembers at most: about 50 MB if all of them are listed together
REMEMBERED = 25_000
#: forms that are remembered at most: most clouds have clients of one or two versions
FORMS = 3
#: fewer providers of one block aren't joined
_FEW_LISTED = 16

#: when something last changed, as the driver returns it; those of one database can be compared
Moment = datetime.datetime | str | None


class PreparedTexts:
    """Texts that are written when they are first wanted and kept until they change.

    A change gives new texts that share all blocks it doesn't touch. Where all of a block is wanted,
    as in long answers, the block is kept as one text.
    """

    __slots__ = ("_blocks", "_joined", "size")

    def __init__(
        self, blocks: dict[int, list[bytes | None]], joined: list[bytes | None], size: int
    ) -> None:
        self._blocks, self._joined, self.size = blocks, joined, size

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
        found: list[bytes] = []
        for number, part in _by_block(slots):
            if len(part) != whole[number]:
                found += self.each(part.tolist(), write)
                continue
            joined = self._joined[number]
            if joined is None:
                joined = self._joined[number] = SEPARATOR.join(self.each(part.tolist(), write))
            found.append(joined)
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


def _by_block(slots: Slots) -> Iterator[tuple[int, Slots]]:
    """Yield ascending slots block by block: the number of the block, and its slots."""
    numbers = slots >> _SHIFT
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    ends = [*begins[1:].tolist(), len(slots)]
    for number, begin, end in zip(numbers[begins].tolist(), begins.tolist(), ends, strict=False):
        yield number, slots[begin:end]


def in_blocks(mask: Numbers) -> Numbers:
    """Return how many slots of each block a mask has."""
    padded = np.zeros(number_of_blocks(len(mask)) << _SHIFT, np.bool_)
    padded[: len(mask)] = mask
    return padded.reshape(-1, _LOW + 1).sum(axis=1)


class Item(NamedTuple):
    """A provider as it stands in a list, or several one after the other.

    :param newest: when one of them last changed
    """

    text: bytes
    newest: Moment


class Listing:
    """Providers in one form. A change gives a new listing that shares all blocks it can."""

    __slots__ = ("_blocks", "_joined", "count")

    def __init__(
        self,
        blocks: dict[int, dict[int, Item]] | None = None,
        joined: dict[int, tuple[bytes, Item]] | None = None,
        count: int = 0,
    ) -> None:
        self._blocks = {} if blocks is None else blocks
        #: by block: the slots that were last wanted of it together, and their joined item
        self._joined = {} if joined is None else joined
        #: how many providers it has, about
        self.count = count

    def forgetting(self, slots: Iterable[int]) -> "Listing":
        """Return the listing without some providers."""
        blocks, joined, count = dict(self._blocks), dict(self._joined), self.count
        copied: set[int] = set()
        for slot in slots:
            number = slot >> _SHIFT
            if number not in blocks:
                continue
            if number not in copied:
                # copied even if it lacks the slot: a thread may still add it to the old listing
                blocks[number] = dict(blocks[number])
                joined.pop(number, None)
                copied.add(number)
            if blocks[number].pop(slot, None) is not None:
                count -= 1
        return Listing(blocks, joined, count)

    def add(self, items: Mapping[int, Item]) -> None:
        """Add providers by slot, as they are at the moment of this listing."""
        if self.count + len(items) > REMEMBERED:
            # each dictionary may be in use: replaced, not emptied
            self._blocks, self._joined, self.count = {}, {}, 0
        for slot, item in items.items():
            self._blocks.setdefault(slot >> _SHIFT, {})[slot] = item
        self.count += len(items)

    def take(self, slots: Slots, joins: bool = True) -> tuple[list[Item], list[int]]:
        """Return the items of some slots, in their order, and the slots whose items it lacks.

        :param slots: ascending
        :param joins: whether several may come as one; they are kept so for the next time
        """
        found: list[Item] = []
        missing: list[int] = []
        blocks, joined = self._blocks, self._joined
        for number, part in _by_block(slots):
            key, known = part.tobytes(), joined.get(number)
            if joins and known is not None and known[0] == key:
                found.append(known[1])
                continue
            block = blocks.get(number, {})
            wanted = part.tolist()
            here = [block.get(slot) for slot in wanted]
            items = [item for item in here if item is not None]
            if len(items) < len(here):
                missing += [slot for slot, item in zip(wanted, here, strict=True) if item is None]
            elif not joins or len(items) < _FEW_LISTED:
                found += items
            else:
                whole = joined_items(items)
                joined[number] = key, whole
                found.append(whole)
        return found, missing


def joined_items(items: Sequence[Item]) -> Item:
    """Return items as one."""
    moments = (item.newest for item in items)
    newest = max((moment for moment in moments if moment is not None), default=None)
    return Item(SEPARATOR.join([item.text for item in items]), newest)


class Listings:
    """Listings by form. It never changes, except that it remembers what was read.

    :param round_: the number of the round, the same for all listings of one snapshot and of those
        that it becomes
    """

    __slots__ = ("_of_form", "_round")

    def __init__(
        self,
        of_form: Mapping[Hashable, tuple[int, Listing]] | None = None,
        round_: list[int] | None = None,
    ) -> None:
        self._of_form: dict[Hashable, tuple[int, Listing]] = dict(of_form or {})
        self._round = [0] if round_ is None else round_

    def forgetting(self, slots: Iterable[int]) -> "Listings":
        """Return the listings without some providers."""
        gone = list(slots)
        # another thread may add a form meanwhile
        known = list(self._of_form.items())
        new = {form: (when, listing.forgetting(gone)) for form, (when, listing) in known}
        return Listings(new, self._round)

    def forget(self) -> None:
        """Begin a new round: all that is wanted from now on is read again.

        So it is in the listings that were made of this one, or that this one was made of.
        """
        self._round[0] += 1

    def of(self, form: Hashable) -> Listing:
        """Return the listing of a form."""
        now = self._round[0]
        found = self._of_form.get(form)
        if found is None or found[0] != now:
            found = self._of_form[form] = now, Listing()
            for other in list(self._of_form)[:-FORMS]:
                self._of_form.pop(other, None)
        return found[1]
