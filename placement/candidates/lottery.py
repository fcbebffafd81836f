"""How many ways there are to serve a request within one tree, and the one of a number."""

import random
from collections.abc import Iterator, Sequence

from placement.candidates.board import Board, Solution
from placement.candidates.budget import Budget
from placement.candidates.outlook import bits
from placement.candidates.problem import Local, Shape
from placement.candidates.subtrees import Parts, Top, options_of

#: steps of the budget that one counted state costs
_COUNTING = 30
#: counting goes one call deeper with each variable
_MOST_VARIABLES = 300


class TooManyToCount(Exception):
    """Counting would take too long, or too much memory."""


class Allowance:
    """How many states may be looked at to count the solutions of all problems of one request."""

    def __init__(self, states: int) -> None:
        self._states = states

    def use(self) -> None:
        """Raise TooManyToCount when it is used up."""
        self._states -= 1
        if self._states < 0:
            raise TooManyToCount


class Lottery:
    """Counts solutions without listing them, and finds the one of a number.

    Equal beginnings are counted once, so that shapes with more solutions than anybody could list
    are no trouble. Raises TooManyToCount, or SearchEnded when the budget is used up.

    :param allowance: None: as many states as it takes
    """

    def __init__(
        self,
        shape: Shape,
        locals_: Sequence[Local],
        budget: Budget | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        budget = budget or Budget()
        if len(shape.variables) > _MOST_VARIABLES:
            raise TooManyToCount

        def counted(options: list[int], tops: list[Top]) -> "Iterator[_Count]":
            part = _Count(Board(shape, locals_, options, tops), budget, allowance)
            if part.count:
                yield part

        self._parts = list(Parts(shape, locals_, budget).each(counted))
        #: how many solutions there are
        self.count = sum(part.count for part in self._parts)

    def solution(self, number: int) -> Solution:
        """One of them; different numbers below `count` give different ones."""
        for part in self._parts:
            if number < part.count:
                return part.numbered(number)
            number -= part.count
        raise IndexError("there are not as many solutions")


class _Count:
    """The solutions of one part."""

    def __init__(self, board: Board, budget: Budget, allowance: Allowance | None) -> None:
        self._board, self._budget, self._allowance = board, budget, allowance
        self._counted: dict[object, int] = {}
        self.count = self._visit(0, board.nothing_hit) if board.is_hopeful(0) else 0

    def numbered(self, number: int) -> Solution:
        """The solution of that number, in an order that is always the same."""
        board, missing = self._board, self._board.nothing_hit
        for depth in range(board.size):
            alike: dict[object, int] = {}
            for local in bits(board.open(depth)):
                count = self._as_behind(alike, depth, local, missing)
                if number < count:
                    break
                number -= count
            still = board.still_missing(depth, local, missing)
            assert still is not None
            missing = still
            board.take(depth, local)
        solution = board.solution()
        for depth in reversed(range(board.size)):
            board.give_back(depth)
        return solution

    def _visit(self, depth: int, missing: int) -> int:
        """How many begin with what is taken."""
        board = self._board
        if depth == board.size:
            return 1
        self._budget.spend(_COUNTING + board.width)
        key = board.state(depth, missing)
        known = self._counted.get(key)
        if known is not None:
            return known
        if self._allowance is not None:
            self._allowance.use()
        total = 0
        alike: dict[object, int] = {}
        for local in bits(board.open(depth)):
            total += self._as_behind(alike, depth, local, missing)
        self._counted[key] = total
        return total

    def _as_behind(self, alike: dict[object, int], depth: int, local: int, missing: int) -> int:
        """What `_behind` says; equal providers in equal condition lead to equally many.

        :param alike: what is known of those at this depth
        """
        condition = self._board.condition(local)
        count = alike.get(condition) if condition is not None else None
        if count is None:
            count = alike[condition] = self._behind(depth, local, missing)
        return count

    def _behind(self, depth: int, local: int, missing: int) -> int:
        """How many begin with what is taken and the local for the variable at `depth`."""
        board = self._board
        if not board.may_take(depth, local):
            return 0
        still = board.still_missing(depth, local, missing)
        if still is None:
            return 0
        before = board.chosen[depth]
        board.take(depth, local)
        count = self._visit(depth + 1, still)
        board.give_back(depth)
        board.chosen[depth] = before
        return count


class RawDraws:
    """Draws choices of an option for each variable, valid or not, all equally often.

    Those that are valid are a uniform sample of the solutions.
    """

    def __init__(self, shape: Shape, locals_: Sequence[Local], budget: Budget) -> None:
        self._shape, self._locals, self._budget = shape, locals_, budget
        self._options = [list(bits(mask)) for mask in options_of(shape, locals_)]
        #: how many choices there are
        self.count = 1
        for options in self._options:
            self.count *= len(options)

    def draw(self, source: random.Random) -> Solution | None:
        """One choice; None if it isn't valid."""
        self._budget.spend(_COUNTING)
        choice = tuple([source.choice(options) for options in self._options])
        return choice if is_solution(self._shape, self._locals, choice) else None


def is_solution(shape: Shape, locals_: Sequence[Local], choice: Solution) -> bool:
    """Whether a choice among the options is valid (allocation-candidates.md 2.6)."""
    pairs = list(zip(shape.variables, choice, strict=True))
    if shape.isolate:
        apart = [local for variable, local in pairs if variable.suffixed]
        if len(set(apart)) < len(apart):
            return False
    rooms: dict[int, list[int]] = {}
    column = {key: number for number, key in enumerate(shape.contested)}
    for variable, local in pairs:
        if variable.contested:
            room = rooms.setdefault(local, list(locals_[local].rooms))
            for key, amount in variable.contested:
                room[column[key]] -= amount
    if any(rest < 0 for room in rooms.values() for rest in room):
        return False
    if not shape.nested:
        giving = {local for variable, local in pairs if variable.demand}
        if len({locals_[local].tree for local in giving}) < len(giving):
            return False
    missing = (1 << shape.trait_sets) - 1
    for variable, local in pairs:
        if not variable.suffixed:
            missing &= ~locals_[local].hits
    return not missing and all(_has_top(members, locals_, choice) for members in shape.subtrees)


def _has_top(members: frozenset[int], locals_: Sequence[Local], choice: Solution) -> bool:
    chosen = {choice[index] for index in members}
    return any(all(locals_[top].below >> local & 1 for local in chosen) for top in chosen)
