"""The state of a search within one tree: what is taken, what is open, which states are equal."""

import collections
from collections.abc import Sequence

from placement.candidates.outlook import Outlook, bits
from placement.candidates.problem import Local, Shape
from placement.candidates.subtrees import Top

#: which local serves each variable
Solution = tuple[int, ...]


class Board:
    """What one search has taken so far. It knows variables by the depth at which it takes them.

    :param options: the locals that can serve each variable, as bits
    :param tops: locals that must be used, each by one of some variables
    """

    def __init__(
        self, shape: Shape, locals_: Sequence[Local], options: list[int], tops: list[Top]
    ) -> None:
        self._shape = shape
        self._locals = locals_
        sizes = _sizes(shape)
        # few options and large amounts first, so that dead ends show early
        self._order = sorted(
            range(len(options)), key=lambda index: (options[index].bit_count(), -sizes[index])
        )
        #: how many variables there are
        self.size = len(options)
        #: about what it takes to look ahead, in steps of the budget
        self.width = len(locals_) * self.size // 4
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
        self._in_tree: dict[int, list[int]] = collections.defaultdict(list)
        self._rest_hits = self._hits_still_possible()
        self._last_chance = self._last_chances()
        self._outlook: Outlook | None = None
        self._classes: list[list[int]] | None = None
        self._class_numbers: list[int] = []
        #: the local chosen at each depth; deeper than the search is, what it has left behind
        self.chosen = [0] * self.size
        #: the trait sets that nothing hits yet, as bits, before anything is taken
        self.nothing_hit = (1 << shape.trait_sets) - 1

    def _least_amounts(self, count: int) -> list[int]:
        least = [0] * count
        for takes in self._takes:
            for at, amount in takes:
                least[at] = min(least[at] or amount, amount)
        return least

    def _hits_still_possible(self) -> list[int]:
        """By depth, the trait sets that the variables from there on may hit."""
        rest = [0] * (self.size + 1)
        for depth in range(self.size - 1, -1, -1):
            rest[depth] = rest[depth + 1]
            if self._hitting[depth]:
                for number in bits(self._options[depth]):
                    rest[depth] |= self._locals[number].hits
        return rest

    def _last_chances(self) -> dict[int, list[Top]]:
        """By depth, the tops that no later variable can be on."""
        chances: dict[int, list[Top]] = collections.defaultdict(list)
        for depths, local in self._tops:
            able = [depth for depth in depths if self._options[depth] >> local & 1]
            chances[max(able)].append((depths, local))
        return chances

    def open(self, depth: int) -> int:
        """The locals worth trying for the variable at `depth`, as bits."""
        mask = self._options[depth]
        if self._exclusive[depth]:
            mask &= ~self._taken
        for at, _ in self._takes[depth]:
            mask &= ~self._spent[at]
        for depths, local in self._last_chance.get(depth, ()):
            if not any(self.chosen[d] == local for d in depths if d < depth):
                mask &= 1 << local
        return mask

    def may_take(self, depth: int, local: int) -> bool:
        """Whether one of the open locals has room for the variable."""
        rooms = self._rooms[local]
        for at, amount in self._takes[depth]:
            if rooms[at] < amount:
                return False
        if self._lonely[depth]:
            there = self._in_tree[self._locals[local].tree]
            return not there or there[-1] == local
        return True

    def still_missing(self, depth: int, local: int, missing: int) -> int | None:
        """The trait sets that nothing hits yet if the variable takes the local.

        None if the variables behind it can't hit all of them.
        """
        if self._hitting[depth]:
            missing &= ~self._locals[local].hits
        return None if missing & ~self._rest_hits[depth + 1] else missing

    def take(self, depth: int, local: int) -> None:
        """Let the variable at `depth` have the local."""
        self.chosen[depth] = local
        rooms = self._rooms[local]
        for at, amount in self._takes[depth]:
            rooms[at] -= amount
            if rooms[at] < self._least[at]:
                self._spent[at] |= 1 << local
        if self._exclusive[depth]:
            self._taken |= 1 << local
        if self._lonely[depth]:
            self._in_tree[self._locals[local].tree].append(local)

    def give_back(self, depth: int) -> None:
        """Undo the `take` of that depth."""
        local = self.chosen[depth]
        rooms = self._rooms[local]
        for at, amount in self._takes[depth]:
            rooms[at] += amount
            if rooms[at] >= self._least[at]:
                self._spent[at] &= ~(1 << local)
        if self._exclusive[depth]:
            self._taken &= ~(1 << local)
        if self._lonely[depth]:
            self._in_tree[self._locals[local].tree].pop()

    def solution(self) -> Solution:
        """What is chosen, in the request's order of variables."""
        found = [0] * self.size
        for index, local in zip(self._order, self.chosen, strict=True):
            found[index] = local
        return tuple(found)

    def is_hopeful(self, depth: int) -> bool:
        """Whether bounds allow that the variables from `depth` on are all served."""
        if self._outlook is None:
            self._outlook = Outlook(self._options, self._takes, self._exclusive, len(self._locals))
        return self._outlook.is_hopeful(depth, self._rooms, self._taken)

    def state(self, depth: int, missing: int) -> object:
        """What the rest of the search depends on, equal providers being told apart no more."""
        rooms, taken = self._rooms, self._taken
        if not self._shape.nested:
            used = set(self.chosen[:depth])
            rests: list[object] = [
                tuple(sorted((*rooms[n], taken >> n & 1, n in used) for n in members))
                for members in self._equals()
            ]
        elif len(self._least) == 1:
            rests = []
            for members in self._equals():
                rests += sorted([rooms[n][0] << 1 | taken >> n & 1 for n in members])
        else:
            rests = [
                tuple(sorted([(*rooms[n], taken >> n & 1) for n in members]))
                for members in self._equals()
            ]
        tops = [
            any(self.chosen[d] == local for d in depths if d < depth)
            for depths, local in self._tops
        ]
        return (depth, missing, *tops, *rests)

    def condition(self, local: int) -> object:
        """Equal for locals that are as good as each other now; None if all are different."""
        if not self._shape.nested:
            return None
        self._equals()
        return (self._class_numbers[local], *self._rooms[local], self._taken >> local & 1)

    def _equals(self) -> list[list[int]]:
        """The locals, those together that can stand for each other."""
        if self._classes is None:
            tops = {local for _, local in self._tops}
            classes: dict[object, list[int]] = collections.defaultdict(list)
            masks = set(self._options)
            for number, local in enumerate(self._locals):
                options = sum(1 << which for which, mask in enumerate(masks) if mask >> number & 1)
                if not options:
                    continue
                named = number if number in tops else -1
                # trees matter only where a candidate must not use two providers of one
                tree = 0 if self._shape.nested else local.tree
                classes[options, local.hits, tree, named].append(number)
            self._classes = list(classes.values())
            self._class_numbers = [0] * len(self._locals)
            for which, members in enumerate(self._classes):
                for number in members:
                    self._class_numbers[number] = which
        return self._classes


def _sizes(shape: Shape) -> list[float]:
    """How large a part of all that is asked of a class each variable asks for, at most."""
    totals: dict[int, int] = collections.Counter()
    for variable in shape.variables:
        for key, amount in variable.contested:
            totals[key] += amount
    return [
        max((amount / totals[key] for key, amount in variable.contested), default=0)
        for variable in shape.variables
    ]
