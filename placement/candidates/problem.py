"""The search within one tree, stripped to small integers, so that equal trees are solved once."""

import dataclasses
import functools

#: (resource class id, amount)
Demand = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True)
class Variable:
    """One choice of a provider: for a suffixed group, or for a class of the unsuffixed one.

    :param kind: variables of a kind have the same options
    :param contested: the part of the demand of classes that other variables ask for, too
    """

    suffix: str
    kind: int
    demand: Demand
    contested: Demand

    @property
    def suffixed(self) -> bool:
        return bool(self.suffix)


@dataclasses.dataclass(frozen=True)
class Shape:
    """What all trees of a request have in common.

    :param variables: groups in request order, classes of the unsuffixed group side by side
    :param subtrees: same_subtree as sets of variables
    :param trait_sets: how many trait sets the unsuffixed group's providers together have to hit
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
        """The classes that several variables ask for."""
        classes = {key for variable in self.variables for key, _ in variable.contested}
        return tuple(sorted(classes))


@dataclasses.dataclass(frozen=True)
class Local:
    """A provider that can serve something in the tree at hand.

    :param options: bit k is set if it can serve variables of kind k
    :param hits: bit t is set if it has a trait of trait set t
    :param below: the locals in its subtree, itself included, as bits
    :param tree: tells providers of one tree from those of another
    :param rooms: what is left of each contested class, in the order of `Shape.contested`
    """

    options: int
    hits: int
    below: int
    tree: int
    rooms: tuple[int, ...]
