"""The search within one tree: its plan, which never changes, and what it has assigned so far.

The search assigns a local to one variable after the other. The *depth* of a variable is its place
in that order.
"""

import collections
import dataclasses
from collections.abc import Sequence

from placement.candidates.tree_problem import Local, RequestShape, Solution, bits
from placement.candidates.trees.same_subtree import Top

#: (number of the contested class, amount)
Takes = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class PlannedVariable:
    """A variable as the search meets it at its depth.

    :param options: the locals that can serve it, as bits
    :param takes: what it takes of contested classes
    :param exclusive: whether it needs a local that no other exclusive variable has
    :param alone_in_tree: whether no other provider of its local's tree may give anything
    :param hitting: whether the traits of its local count for the trait sets
    :param hits_behind: the trait sets that the variables behind it can hit, as bits: all others
        must be hit by now
    :param last_for: the tops that no variable behind it can be on: if none before it is on such a
        top, it has to be
    """

    options: int
    takes: Takes
    exclusive: bool
    alone_in_tree: bool
    hitting: bool
    hits_behind: int
    last_for: tuple[Top, ...]


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class SearchPlan:
    """The variables of one search by depth.

    :param order: by depth, the number of the variable in the request
    :param tops: locals that must be used, each by a variable at one of some depths
    :param least: by contested class, the least amount that a variable takes
    """

    shape: RequestShape
    locals: Sequence[Local]
    order: tuple[int, ...]
    variables: tuple[PlannedVariable, ...]
    tops: tuple[Top, ...]
    least: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return how many variables there are."""
        return len(self.variables)

    @property
    def width(self) -> int:
        """Return about what one look ahead costs, in steps of the budget."""
        return len(self.locals) * self.size // 4

    @property
    def nothing_hit(self) -> int:
        """Return all trait sets as bits: none is hit before the search begins."""
        return (1 << self.shape.trait_sets) - 1


def plan(
    shape: RequestShape, locals_: Sequence[Local], options: Sequence[int], tops: Sequence[Top]
) -> SearchPlan:
    """Plan a search.

    Variables with few options come first, and of these the ones with large amounts: what is hard to
    serve shows early whether it can be served.

    :param options: the locals that can serve each variable, as bits, in the request's order
    :param tops: locals that must be used, each by one of some variables in the request's order
    """
    sizes = _sizes(shape)
    order = sorted(
        range(len(options)), key=lambda index: (options[index].bit_count(), -sizes[index])
    )
    column = {key: number for number, key in enumerate(shape.contested)}
    variables = [shape.variables[index] for index in order]
    takes = [
        tuple([(column[key], amount) for key, amount in variable.contested])
        for variable in variables
    ]
    hitting = [shape.trait_sets > 0 and not variable.suffixed for variable in variables]
    masks = [options[index] for index in order]
    hits_behind = _hits_behind(masks, hitting, locals_)
    tops_by_depth = tuple(
        (frozenset([depth for depth, index in enumerate(order) if index in members]), local)
        for members, local in tops
    )
    last_for = _last_chances(masks, tops_by_depth)
    planned = [
        PlannedVariable(
            masks[depth],
            takes[depth],
            shape.isolate and variable.suffixed,
            not shape.nested and bool(variable.demand),
            hitting[depth],
            hits_behind[depth],
            tuple(last_for.get(depth, ())),
        )
        for depth, variable in enumerate(variables)
    ]
    least = _least_amounts(takes, len(column))
    return SearchPlan(shape, locals_, tuple(order), tuple(planned), tops_by_depth, least)


def _sizes(shape: RequestShape) -> list[float]:
    """Return, by variable, the largest share that it asks of all that is asked of any class."""
    if not shape.contested:
        return [0] * len(shape.variables)
    totals: dict[int, int] = collections.Counter()
    for variable in shape.variables:
        for key, amount in variable.contested:
            totals[key] += amount
    return [
        max((amount / totals[key] for key, amount in variable.contested), default=0)
        for variable in shape.variables
    ]


def _least_amounts(takes: Sequence[Takes], count: int) -> tuple[int, ...]:
    least = [0] * count
    for taken in takes:
        for at, amount in taken:
            least[at] = min(least[at] or amount, amount)
    return tuple(least)


def _hits_behind(
    masks: Sequence[int], hitting: Sequence[bool], locals_: Sequence[Local]
) -> list[int]:
    """Return, by depth, the trait sets that the variables behind it can hit."""
    behind = [0] * len(masks)
    for depth in range(len(masks) - 1, 0, -1):
        behind[depth - 1] = behind[depth]
        if hitting[depth]:
            for number in bits(masks[depth]):
                behind[depth - 1] |= locals_[number].hits
    return behind


def _last_chances(masks: Sequence[int], tops: Sequence[Top]) -> dict[int, list[Top]]:
    """Return, by depth, the tops that no variable behind it can be on."""
    chances: dict[int, list[Top]] = collections.defaultdict(list)
    for depths, local in tops:
        able = [depth for depth in depths if masks[depth] >> local & 1]
        chances[max(able)].append((depths, local))
    return chances


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
