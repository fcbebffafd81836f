"""Whether what is left can still serve those that come: bounds for the search within one tree.

None of them is ever wrong when it says no. They are exact where all ask for one unit, or for equal
amounts. Unequal amounts are bin packing, which no bound decides in every case.
"""

import bisect
import collections
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from placement.candidates.bounds import can_supply

#: sums up to this many units are told apart, one bit each
_MOST_SUMS = 1 << 16
#: bounds the memory of one depth
_MOST_ROOMS = 2_000

#: (number of the contested class, amount)
Takes = tuple[tuple[int, int], ...]


class Outlook:
    """Looks from each depth of a search at the variables from there on.

    :param options: by depth, the locals that can serve the variable, as bits
    :param takes: by depth, what it takes
    :param exclusive: by depth, whether it needs a local that no other exclusive one has
    :param count: how many locals there are
    """

    def __init__(
        self,
        options: Sequence[int],
        takes: Sequence[Takes],
        exclusive: Sequence[bool],
        count: int,
    ) -> None:
        self._options, self._takes, self._exclusive = options, takes, exclusive
        self._count = count
        self._ahead: dict[int, _Ahead] = {}

    def is_hopeful(self, depth: int, rooms: Sequence[Sequence[int]], taken: int) -> bool:
        """Whether nothing shows that the variables from `depth` on can't all be served.

        :param rooms: by local, what is left of each contested class
        :param taken: the locals that exclusive variables have, as bits
        """
        ahead = self._ahead.get(depth)
        if ahead is None:
            ahead = self._ahead[depth] = self._look(depth)
        if ahead.exclusive:
            free = ((able, 1 - (taken >> n & 1)) for n, able in enumerate(ahead.able))
            if not can_supply(ahead.exclusive, free):
                return False
        return all(wants.may_fit(ahead.able, rooms, taken) for wants in ahead.classes)

    def _look(self, depth: int) -> "_Ahead":
        kinds: dict[int, int] = {}
        able = [0] * self._count
        exclusive: dict[int, int] = collections.Counter()
        wants: dict[int, list[tuple[int, int]]] = {}
        alone: dict[int, bool] = {}
        for at in range(depth, len(self._options)):
            mask = self._options[at]
            if mask not in kinds:
                kinds[mask] = 1 << len(kinds)
                for number in bits(mask):
                    able[number] |= kinds[mask]
            if self._exclusive[at]:
                exclusive[kinds[mask]] += 1
            for column, amount in self._takes[at]:
                wants.setdefault(column, []).append((amount, kinds[mask]))
                alone[column] = alone.get(column, True) and self._exclusive[at]
        classes = [_Wants(column, asked, alone[column]) for column, asked in wants.items()]
        return _Ahead(able, exclusive, classes)


class _Ahead:
    """What the variables from one depth on want.

    :param able: by local, the kinds of variables that it can serve, as bits
    :param exclusive: how many variables of each kind need a local of their own
    """

    __slots__ = ("able", "classes", "exclusive")

    def __init__(
        self, able: list[int], exclusive: Mapping[int, int], classes: "list[_Wants]"
    ) -> None:
        self.able, self.exclusive, self.classes = able, exclusive, classes


class _Wants:
    """What is wanted of one class: amounts that can't be split.

    :param asked: (amount, kind) of each variable
    :param alone: whether no local may serve two of them
    """

    def __init__(self, column: int, asked: list[tuple[int, int]], alone: bool) -> None:
        self._column, self._alone = column, alone
        self._amounts = sorted(amount for amount, _ in asked)
        self._sums: dict[int, int] = collections.Counter()
        for amount, kind in asked:
            self._sums[kind] += amount
        #: by amount, how many want at least that much
        self._counts: list[tuple[int, dict[int, int]]] = []
        for least in sorted(set(self._amounts)):
            counts = collections.Counter(kind for amount, kind in asked if amount >= least)
            self._counts.append((least, counts))
        #: what the so many smallest of those take, by the same order
        self._smallest = [
            list(itertools.accumulate(amount for amount in self._amounts if amount >= least))
            for least, _ in self._counts
        ]
        self._piece = math.gcd(*self._amounts)
        self._reached = self._reachable()
        self._known: dict[int, tuple[int, ...]] = {}

    def _reachable(self) -> int | None:
        """The sums that some of the amounts have, in pieces, as bits; None: they are too many."""
        if sum(self._amounts) // self._piece > _MOST_SUMS:
            return None
        reached = 1
        for amount in self._amounts:
            reached |= reached << amount // self._piece
        return reached

    def may_fit(self, able: Sequence[int], rooms: Sequence[Sequence[int]], taken: int) -> bool:
        """Whether counts and sums allow it."""
        column = self._column
        if self._alone:
            gives = [
                self._given(0 if taken >> n & 1 else room[column]) for n, room in enumerate(rooms)
            ]
        else:
            gives = [self._given(room[column]) for room in rooms]
        for at, (_, counts) in enumerate(self._counts):
            if not can_supply(counts, ((able[n], given[at]) for n, given in enumerate(gives))):
                return False
        if len(self._counts) == 1:
            # equal amounts: the number says all
            return True
        return can_supply(self._sums, ((able[n], given[-1]) for n, given in enumerate(gives)))

    def _given(self, room: int) -> tuple[int, ...]:
        """How many of those that want at least an amount fit into the room, for each amount.

        Behind them the largest sum that can be made use of.
        """
        given = self._known.get(room)
        if given is None:
            given = self._give(room)
            if len(self._known) < _MOST_ROOMS:
                self._known[room] = given
        return given

    def _give(self, room: int) -> tuple[int, ...]:
        numbers = [bisect.bisect_right(sums, room) for sums in self._smallest]
        if self._alone:
            at = bisect.bisect_right(self._amounts, room)
            return (*(min(number, 1) for number in numbers), self._amounts[at - 1] if at else 0)
        if self._reached is None:
            return (*numbers, room // self._piece * self._piece)
        most = min(room // self._piece, self._reached.bit_length())
        reached = self._reached & (1 << most + 1) - 1
        return (*numbers, (reached.bit_length() - 1) * self._piece)


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
