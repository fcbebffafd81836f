"""What the search within one tree knows before it begins: the order of its variables.

The search assigns a local to one variable after the other. The *depth* of a variable is its place
in that order. A plan never changes; `assignment.py` has what changes.
"""

import collections
import dataclasses
from collections.abc import Sequence

from placement.candidates.tree_problem import Local, RequestShape, bits
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
