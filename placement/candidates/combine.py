"""Every way to serve a request within one tree, one at a time.

A depth-first search that counts what it takes, so that an invalid beginning is never extended.
As soon as it runs into a dead end it looks ahead: before a beginning is extended, sums and Hall's
condition must allow an end, and beginnings that differ only by which of several equal providers
they use are tried once.
"""

import collections
import dataclasses
from collections.abc import Iterator, Sequence

from placement.candidates.bounds import can_supply
from placement.candidates.problem import Local, Shape

#: bounds the memory of one search
_MOST_REMEMBERED = 50_000

#: which local serves each variable
Solution = tuple[int, ...]


def solutions(shape: Shape, locals_: Sequence[Local]) -> Iterator[Solution]:
    """All valid choices of a local for each variable (allocation-candidates.md 2.6)."""
    for narrowed, tops in _splits(shape, locals_):
        yield from Assignment(shape, locals_, narrowed, tops).run()


def _splits(shape: Shape, locals_: Sequence[Local]) -> Iterator[tuple[list[int], "list[Top]"]]:
    """The search in parts that don't overlap: options of each variable, and tops to be used."""
    by_kind: dict[int, int] = {}
    options = []
    for variable in shape.variables:
        if variable.kind not in by_kind:
            bit = 1 << variable.kind
            by_kind[variable.kind] = sum(
                1 << number for number, local in enumerate(locals_) if local.options & bit
            )
        options.append(by_kind[variable.kind])
    if all(options):
        yield from _with_tops(shape, locals_, options, 0)


#: (variables of which at least one must be on the local, that local)
Top = tuple[frozenset[int], int]


def _with_tops(
    shape: Shape, locals_: Sequence[Local], options: list[int], number: int
) -> Iterator[tuple[list[int], list[Top]]]:
    """Split the search by which provider is on top of each same_subtree constraint.

    The chosen provider that is the ancestor of all others is only one, so the parts don't overlap.
    """
    if number == len(shape.subtrees):
        yield options, []
        return
    members = shape.subtrees[number]
    possible = 0
    for index in members:
        possible |= options[index]
    for top in _bits(possible):
        below = locals_[top].below
        narrowed = list(options)
        for index in members:
            narrowed[index] &= below
        if all(narrowed[index] for index in members):
            for final, tops in _with_tops(shape, locals_, narrowed, number + 1):
                if any(final[index] >> top & 1 for index in members):
                    yield final, [(members, top), *tops]


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclasses.dataclass
class _Ticket:
    """A beginning: the locals chosen so far, and by tree those that give something."""

    chosen: list[int]
    in_tree: dict[int, list[int]]


class Lottery:
    """Counts solutions without listing them, and finds the one of a number.

    Equal beginnings are counted once, so that shapes with more solutions than anybody could list
    are no trouble.
    """

    def __init__(self, shape: Shape, locals_: Sequence[Local]) -> None:
        self._parts = [
            Assignment(shape, locals_, narrowed, tops) for narrowed, tops in _splits(shape, locals_)
        ]
        self._counts = [part.count() for part in self._parts]

    @property
    def count(self) -> int:
        """How many solutions there are."""
        return sum(self._counts)

    def solution(self, number: int) -> Solution:
        """One of them; different numbers below `count` give different ones."""
        for part, count in zip(self._parts, self._counts, strict=True):
            if number < count:
                return part.numbered(number)
            number -= count
        raise IndexError("there are not as many solutions")


class Assignment:
    """One search: options of each variable as bits over the locals, the tops to be used."""

    def __init__(
        self, shape: Shape, locals_: Sequence[Local], options: list[int], tops: list[Top]
    ) -> None:
        self._shape = shape
        self._locals = locals_
        # few options first, so that dead ends show early
        self._order = sorted(range(len(options)), key=lambda index: options[index].bit_count())
        self._options = [options[index] for index in self._order]
        variables = [shape.variables[index] for index in self._order]
        column = {key: number for number, key in enumerate(shape.contested)}
        self._takes = [
            tuple((column[key], amount) for key, amount in variable.contested)
            for variable in variables
        ]
        self._exclusive = [shape.isolate and variable.suffixed for variable in variables]
        self._lonely = [not shape.nested and bool(variable.demand) for variable in variables]
        self._hitting = [not variable.suffixed and shape.trait_sets > 0 for variable in variables]
        self._tops = [
            (frozenset(d for d, index in enumerate(self._order) if index in members), local)
            for members, local in tops
        ]
        self._rooms = [list(local.rooms) for local in locals_]
        self._least = self._least_amounts(len(column))
        #: by contested class, the locals that can't give even the least amount any more
        self._spent = [0] * len(column)
        for number in range(len(locals_)):
            for at in range(len(column)):
                if self._rooms[number][at] < self._least[at]:
                    self._spent[at] |= 1 << number
        self._taken = 0
        self._rest_hits = self._hits_still_possible()
        self._last_chance = self._last_chances()
        self._careful = False
        self._hopeless: set[object] = set()
        self._equals: list[list[int]] | None = None
        self._class_numbers: dict[int, int] = {}
        self._counted: dict[object, int] = {}

    def _least_amounts(self, count: int) -> list[int]:
        least = [0] * count
        for takes in self._takes:
            for at, amount in takes:
                least[at] = min(least[at] or amount, amount)
        return least

    def _hits_still_possible(self) -> list[int]:
        """By depth, the trait sets that the variables from there on may hit."""
        rest = [0] * (len(self._order) + 1)
        for depth in range(len(self._order) - 1, -1, -1):
            rest[depth] = rest[depth + 1]
            if self._hitting[depth]:
                for number in _bits(self._options[depth]):
                    rest[depth] |= self._locals[number].hits
        return rest

    def _last_chances(self) -> dict[int, list[Top]]:
        """By depth, the tops that no later variable can be on."""
        chances: dict[int, list[Top]] = collections.defaultdict(list)
        for depths, local in self._tops:
            able = [depth for depth in depths if self._options[depth] >> local & 1]
            chances[max(able)].append((depths, local))
        return chances

    def run(self) -> Iterator[Solution]:
        """The valid assignments, in the request's order of variables."""
        size = len(self._order)
        chosen = [0] * size
        left = [0] * size
        found_before = [0] * size
        missing = [0] * (size + 1)
        missing[0] = (1 << self._shape.trait_sets) - 1
        in_tree: dict[int, list[int]] = collections.defaultdict(list)
        found, depth = 0, 0
        if not self._can_end(0, missing[0]):
            return
        left[0] = self._open(0, chosen)
        while depth >= 0:
            if not left[depth]:
                if found == found_before[depth]:
                    self._note_dead_end(depth, missing[depth], chosen)
                depth -= 1
                if depth >= 0:
                    self._give_back(depth, chosen[depth], in_tree)
                continue
            low = left[depth] & -left[depth]
            left[depth] ^= low
            local = low.bit_length() - 1
            if not self._may_take(depth, local, in_tree):
                continue
            hit = missing[depth]
            if self._hitting[depth]:
                hit &= ~self._locals[local].hits
            if hit & ~self._rest_hits[depth + 1]:
                continue
            chosen[depth] = local
            if depth + 1 == size:
                found += 1
                solution = [0] * size
                for index, number in zip(self._order, chosen, strict=True):
                    solution[index] = number
                yield tuple(solution)
                continue
            self._take(depth, local, in_tree)
            depth += 1
            missing[depth] = hit
            found_before[depth] = found
            hopeful = not self._careful or self._is_hopeful(depth, hit, chosen)
            left[depth] = self._open(depth, chosen) if hopeful else 0

    def count(self) -> int:
        """How many valid assignments there are."""
        return self._visit(self._lottery_ticket(), 0, self._nothing_hit())

    def numbered(self, number: int) -> Solution:
        """The valid assignment of that number, in an order that is always the same."""
        ticket = self._lottery_ticket()
        missing = self._nothing_hit()
        for depth in range(len(self._order)):
            for local in _bits(self._open(depth, ticket.chosen)):
                count = self._count_behind(ticket, depth, local, missing)
                if number < count:
                    break
                number -= count
            ticket.chosen[depth] = local
            self._take(depth, local, ticket.in_tree)
            missing = self._missing_after(depth, local, missing)
        for depth in reversed(range(len(self._order))):
            self._give_back(depth, ticket.chosen[depth], ticket.in_tree)
        solution = [0] * len(self._order)
        for index, local in zip(self._order, ticket.chosen, strict=True):
            solution[index] = local
        return tuple(solution)

    def _lottery_ticket(self) -> "_Ticket":
        return _Ticket([0] * len(self._order), collections.defaultdict(list))

    def _nothing_hit(self) -> int:
        return (1 << self._shape.trait_sets) - 1

    def _missing_after(self, depth: int, local: int, missing: int) -> int:
        return missing & ~self._locals[local].hits if self._hitting[depth] else missing

    def _visit(self, ticket: "_Ticket", depth: int, missing: int) -> int:
        """How many assignments begin with what is taken."""
        if depth == len(self._order):
            return 1
        key = self._state(depth, missing, ticket.chosen)
        known = self._counted.get(key)
        if known is None:
            known = 0
            alike: dict[object, int] = {}
            for local in _bits(self._open(depth, ticket.chosen)):
                # equal providers in equal condition lead to equally many
                condition = (self._class_of(local), *self._rooms[local], self._taken >> local & 1)
                if condition not in alike or not self._shape.nested:
                    alike[condition] = self._count_behind(ticket, depth, local, missing)
                known += alike[condition]
            self._counted[key] = known
        return known

    def _count_behind(self, ticket: "_Ticket", depth: int, local: int, missing: int) -> int:
        if not self._may_take(depth, local, ticket.in_tree):
            return 0
        missing = self._missing_after(depth, local, missing)
        if missing & ~self._rest_hits[depth + 1]:
            return 0
        before = ticket.chosen[depth]
        ticket.chosen[depth] = local
        self._take(depth, local, ticket.in_tree)
        count = self._visit(ticket, depth + 1, missing)
        self._give_back(depth, local, ticket.in_tree)
        ticket.chosen[depth] = before
        return count

    def _class_of(self, local: int) -> int:
        """The number of the class of equal locals that this one is in."""
        if not self._class_numbers:
            self._class_numbers = {
                member: number
                for number, members in enumerate(self._equal_locals())
                for member in members
            }
        return self._class_numbers[local]

    def _open(self, depth: int, chosen: list[int]) -> int:
        """The locals worth trying for the variable at `depth`."""
        mask = self._options[depth]
        if self._exclusive[depth]:
            mask &= ~self._taken
        for at, _ in self._takes[depth]:
            mask &= ~self._spent[at]
        for depths, local in self._last_chance.get(depth, ()):
            if not any(chosen[d] == local for d in depths if d < depth):
                mask &= 1 << local
        return mask

    def _may_take(self, depth: int, local: int, in_tree: dict[int, list[int]]) -> bool:
        rooms = self._rooms[local]
        for at, amount in self._takes[depth]:
            if rooms[at] < amount:
                return False
        if self._lonely[depth]:
            there = in_tree[self._locals[local].tree]
            return not there or there[-1] == local
        return True

    def _take(self, depth: int, local: int, in_tree: dict[int, list[int]]) -> None:
        rooms = self._rooms[local]
        for at, amount in self._takes[depth]:
            rooms[at] -= amount
            if rooms[at] < self._least[at]:
                self._spent[at] |= 1 << local
        if self._exclusive[depth]:
            self._taken |= 1 << local
        if self._lonely[depth]:
            in_tree[self._locals[local].tree].append(local)

    def _give_back(self, depth: int, local: int, in_tree: dict[int, list[int]]) -> None:
        rooms = self._rooms[local]
        for at, amount in self._takes[depth]:
            rooms[at] += amount
            if rooms[at] >= self._least[at]:
                self._spent[at] &= ~(1 << local)
        if self._exclusive[depth]:
            self._taken &= ~(1 << local)
        if self._lonely[depth]:
            in_tree[self._locals[local].tree].pop()

    def _note_dead_end(self, depth: int, missing: int, chosen: list[int]) -> None:
        self._careful = True
        if depth and len(self._hopeless) < _MOST_REMEMBERED:
            self._hopeless.add(self._state(depth, missing, chosen))

    def _is_hopeful(self, depth: int, missing: int, chosen: list[int]) -> bool:
        if self._hopeless and self._state(depth, missing, chosen) in self._hopeless:
            return False
        return self._can_end(depth, missing)

    def _state(self, depth: int, missing: int, chosen: list[int]) -> object:
        """What the rest of the search depends on, equal providers being told apart no more."""
        if self._equals is None:
            self._equals = self._equal_locals()
        used = set(chosen[:depth]) if not self._shape.nested else set()
        rests = tuple(
            tuple(sorted((*self._rooms[n], self._taken >> n & 1, n in used) for n in members))
            for members in self._equals
        )
        tops = tuple(
            any(chosen[d] == local for d in depths if d < depth) for depths, local in self._tops
        )
        return (depth, missing, tops, rests)

    def _equal_locals(self) -> list[list[int]]:
        """The locals, those together that can stand for each other."""
        tops = {local for _, local in self._tops}
        classes: dict[object, list[int]] = collections.defaultdict(list)
        for number, local in enumerate(self._locals):
            options = sum(
                1 << depth for depth, mask in enumerate(self._options) if mask >> number & 1
            )
            named = number if number in tops else -1
            classes[options, local.hits, local.tree, named].append(number)
        return list(classes.values())

    def _can_end(self, depth: int, missing: int) -> bool:
        """Whether sums and Hall's condition leave hope for the variables from `depth` on."""
        kinds: dict[int, int] = {}
        able = [0] * len(self._locals)
        wanted: dict[int, int] = collections.Counter()
        for d in range(depth, len(self._order)):
            mask = self._options[d]
            if mask not in kinds:
                kinds[mask] = 1 << len(kinds)
                for number in _bits(mask):
                    able[number] |= kinds[mask]
            if self._exclusive[d]:
                wanted[kinds[mask]] += 1
        free = ((able[n], 1 - (self._taken >> n & 1)) for n in range(len(able)))
        if not can_supply(wanted, free):
            return False
        return all(self._class_can_end(depth, at, kinds, able) for at in range(len(self._least)))

    def _class_can_end(self, depth: int, at: int, kinds: dict[int, int], able: list[int]) -> bool:
        wanted: dict[int, int] = collections.Counter()
        amounts = set()
        for d in range(depth, len(self._order)):
            for where, amount in self._takes[d]:
                if where == at:
                    wanted[kinds[self._options[d]]] += amount
                    amounts.add(amount)
        if not amounts:
            return True
        # equal amounts are counted in pieces, which no provider can split
        piece = amounts.pop() if len(amounts) == 1 else 1
        pieces = {kind: amount // piece for kind, amount in wanted.items()}
        return can_supply(
            pieces, ((able[n], rooms[at] // piece) for n, rooms in enumerate(self._rooms))
        )
