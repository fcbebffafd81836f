"""Random choices of providers within one tree, of which the invalid ones are dropped."""

import math
import random
from collections.abc import Sequence

from placement.candidates.budget import Budget
from placement.candidates.tree_problem import Local, RequestShape, Solution, bits, options_of

#: steps of the budget that one draw costs
_DRAWING = 30


class BlindDraws:
    """Draws choices of an option for each variable, valid or not, all equally often.

    The valid choices among them are a uniform sample of the solutions.
    """

    def __init__(self, shape: RequestShape, locals_: Sequence[Local], budget: Budget) -> None:
        self._shape, self._locals, self._budget = shape, locals_, budget
        self._options = [list(bits(mask)) for mask in options_of(shape, locals_)]
        #: how many choices there are
        self.count = math.prod(len(options) for options in self._options)

    def draw(self, source: random.Random) -> Solution | None:
        """Return one choice; None if it isn't valid."""
        self._budget.spend(_DRAWING)
        choice = tuple([source.choice(options) for options in self._options])
        return choice if is_solution(self._shape, self._locals, choice) else None


def is_solution(shape: RequestShape, locals_: Sequence[Local], choice: Solution) -> bool:
    """Say whether a choice among the options is valid (allocation-candidates.md 2.6)."""
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
