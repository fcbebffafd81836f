"""The state of a search within one tree: which local each variable has, and what that leaves."""

import collections

from placement.candidates.tree_problem import Solution
from placement.candidates.trees.search_plan import SearchPlan


class Assignment:
    """What one search has assigned so far. It knows variables by their depth.

    :param plan: the order of the variables
    """

    __slots__ = (
        "_in_tree",
        "_least",
        "_locals",
        "_order",
        "_spent",
        "_variables",
        "chosen",
        "rooms",
        "taken",
    )

    def __init__(self, plan: SearchPlan) -> None:
        self._order, self._variables = plan.order, plan.variables
        self._locals, self._least = plan.locals, plan.least
        #: the local chosen at each depth; those behind the depth of the search mean nothing
        self.chosen = [0] * plan.size
        #: by local, what is left of each contested class
        self.rooms = [list(local.rooms) for local in plan.locals]
        #: the locals that exclusive variables have, as bits
        self.taken = 0
        #: by contested class, the locals with less left than any variable takes, as bits
        self._spent = [0] * len(plan.least)
        for number, rooms in enumerate(self.rooms):
            for at, room in enumerate(rooms):
                if room < plan.least[at]:
                    self._spent[at] |= 1 << number
        #: by tree, the locals of variables that allow no other local of their tree
        self._in_tree: dict[int, list[int]] = collections.defaultdict(list)

    def open(self, depth: int) -> int:
        """Return the locals worth trying for the variable at `depth`, as bits.

        `may_take` then says whether one of them has room: bits only leave out what has none at all.
        """
        variable = self._variables[depth]
        mask = variable.options
        if variable.exclusive:
            mask &= ~self.taken
        for at, _ in variable.takes:
            mask &= ~self._spent[at]
        for depths, local in variable.last_for:
            if not self.is_used(local, depths, depth):
                mask &= 1 << local
        return mask

    def is_used(self, local: int, depths: frozenset[int], before: int) -> bool:
        """Say whether a variable at one of the depths has the local, of those before `before`."""
        return any(self.chosen[depth] == local for depth in depths if depth < before)

    def may_take(self, depth: int, local: int) -> bool:
        """Say whether one of the open locals has room for the variable."""
        variable = self._variables[depth]
        rooms = self.rooms[local]
        for at, amount in variable.takes:
            if rooms[at] < amount:
                return False
        if variable.alone_in_tree:
            there = self._in_tree[self._locals[local].tree]
            return not there or there[-1] == local
        return True

    def still_missing(self, depth: int, local: int, missing: int) -> int | None:
        """Return the trait sets that nothing hits yet if the variable takes the local.

        None if the variables behind it can't hit all of them.
        """
        variable = self._variables[depth]
        if variable.hitting:
            missing &= ~self._locals[local].hits
        return None if missing & ~variable.hits_behind else missing

    def take(self, depth: int, local: int) -> None:
        """Assign the local to the variable at `depth`."""
        variable = self._variables[depth]
        self.chosen[depth] = local
        rooms = self.rooms[local]
        for at, amount in variable.takes:
            rooms[at] -= amount
            if rooms[at] < self._least[at]:
                self._spent[at] |= 1 << local
        if variable.exclusive:
            self.taken |= 1 << local
        if variable.alone_in_tree:
            self._in_tree[self._locals[local].tree].append(local)

    def give_back(self, depth: int) -> None:
        """Undo the `take` of that depth."""
        variable = self._variables[depth]
        local = self.chosen[depth]
        rooms = self.rooms[local]
        for at, amount in variable.takes:
            rooms[at] += amount
            if rooms[at] >= self._least[at]:
                self._spent[at] &= ~(1 << local)
        if variable.exclusive:
            self.taken &= ~(1 << local)
        if variable.alone_in_tree:
            self._in_tree[self._locals[local].tree].pop()

    def solution(self) -> Solution:
        """Return what is chosen, in the request's order of variables."""
        found = [0] * len(self.chosen)
        for index, local in zip(self._order, self.chosen, strict=True):
            found[index] = local
        return tuple(found)
