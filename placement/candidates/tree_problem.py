"""The search within one tree as a problem of small integers, so that equal trees are solved once.

A *variable* stands for what one provider has to give: a suffixed group, or one class of the
unsuffixed group. A *local* stands for a provider that can serve variables: a provider of the tree,
or a sharing provider that serves the tree. A *solution* chooses a local for each variable.

Sets of locals, of variables and of traits are the bits of one integer: 0b1010 is the set of the
locals 1 and 3. Such sets are small, and a search joins and compares many of them.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence

from placement.candidates.slots import WholeSlot

#: (resource class id, amount)
Demand = tuple[tuple[int, int], ...]
#: the number of the local that serves each variable
Solution = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Variable:
    """One choice of a provider: for a suffixed group, or for a class of the unsuffixed group.

    :param kind: variables of a kind have the same options
    :param contested: what it asks of classes that other variables ask for, too: only these can run
        out while the search chooses providers
    """

    suffix: str
    kind: int
    demand: Demand
    contested: Demand

    @property
    def suffixed(self) -> bool:
        """Say whether the variable is a suffixed group."""
        return bool(self.suffix)


@dataclasses.dataclass(frozen=True)
class RequestShape:
    """What all trees of a request have in common.

    :param variables: groups in request order, classes of the unsuffixed group side by side
    :param subtrees: same_subtree as sets of variables
    :param trait_sets: how many sets of required traits the unsuffixed group has. Of each set, one
        of the group's providers must have a trait
    :param isolate: whether suffixed variables need different providers
    :param nested: whether several providers of one tree may be used
    """

    variables: tuple[Variable, ...]
    subtrees: tuple[frozenset[int], ...]
    trait_sets: int
    isolate: bool
    nested: bool

    @functools.cached_property
    def contested(self) -> tuple[int, ...]:
        """Return the classes that several variables ask for."""
        classes = {key for variable in self.variables for key, _ in variable.contested}
        return tuple(sorted(classes))


@dataclasses.dataclass(frozen=True)
class Local:
    """A provider that can serve something in the tree at hand.

    :param options: bit k is set if it can serve variables of kind k
    :param hits: bit t is set if it has a trait of trait set t
    :param below: the locals in its subtree, itself included, as bits
    :param tree: tells providers of one tree from those of another
    :param rooms: what is left of each contested class, in the order of `RequestShape.contested`
    """

    options: int
    hits: int
    below: int
    tree: int
    rooms: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class TreeProblem:
    """What the search within a tree has to solve.

    :param locals: the tree's own locals, then the locals that are lent
    :param places: where in the tree each of its own locals stands
    :param lent: the sharing providers from other trees, one for each local lent, as slots of the
        whole cloud
    :param sharing: by local, whether it is a sharing provider
    :param root: the slot in the whole cloud of the root of one tree that has the problem
    """

    shape: RequestShape
    locals: Sequence[Local]
    places: Sequence[int]
    lent: tuple[WholeSlot, ...]
    sharing: Sequence[bool]
    root: WholeSlot


def options_of(shape: RequestShape, locals_: Sequence[Local]) -> list[int]:
    """Return the locals that can serve each variable, as bits."""
    by_kind: dict[int, int] = {}
    for variable in shape.variables:
        if variable.kind not in by_kind:
            bit = 1 << variable.kind
            by_kind[variable.kind] = sum(
                1 << number for number, local in enumerate(locals_) if local.options & bit
            )
    return [by_kind[variable.kind] for variable in shape.variables]


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, ascending: 1 and 3 for 0b1010."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def union(masks: Sequence[int], chosen: Iterable[int]) -> int:
    """Return the bits that are set in any of the chosen masks."""
    found = 0
    for index in chosen:
        found |= masks[index]
    return found
