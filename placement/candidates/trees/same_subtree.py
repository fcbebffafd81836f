"""same_subtree: the search as subproblems, one for each choice of the tops.

A solution meets `same_subtree=_N,_G` if one of the providers that serve _N and _G has all of them
in its subtree. This provider is the *top* of the constraint. A solution has one top for each
constraint, so the subproblems don't overlap::

    root                 same_subtree=_N,_G
    ├── n0  VCPU         subproblem with top n0: _N on n0, _G on g0
    │   └── g0  VGPU     subproblem with top n1: _N on n1, _G on g1 or on g2
    └── n1  VCPU
        ├── g1  VGPU     root is no top: it serves neither group
        └── g2  VGPU     g0 is no top: nothing in its subtree serves _N

In a subproblem the options of _N and _G are those in the subtree of the top, and one of the two
groups must be on the top. That is all that the search of a subproblem knows of subtrees.
"""

import collections
import dataclasses
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from placement.candidates.budget import Budget
from placement.candidates.tree_problem import Local, RequestShape, bits, options_of, union
from placement.candidates.trees.bounds import can_supply

T = TypeVar("T")
#: (variables of which at least one must be on the local, that local)
Top = tuple[frozenset[int], int]
#: what searches one subproblem: from the options of each variable, and the tops
Solve = Callable[[list[int], list[Top]], Iterable[T]]
#: with more codes of subtrees than this, `_SubtreeSymmetry` begins anew: bounds its memory
_MOST_CODES = 50_000
#: how many tops one step of the budget looks at
_TOPS_OF_STEP = 4


@dataclasses.dataclass(eq=False)
class _Step:
    """The tops of some constraints, and the choices for the next constraint that are left.

    :param found: whether there was a solution with these tops
    """

    choices: Iterator[tuple[list[int], list[Top]]]
    tops: list[Top]
    found: bool = False


class Subproblems:
    """Goes through the subproblems of one search: chooses a top for one constraint after the other.

    Tops that can't serve their constraint are dropped beforehand. Looking further ahead pays only
    where many choices of tops lead nowhere. So it begins after the first subproblem without a
    solution. From then on the tops chosen so far must leave an option for every variable
    (`_is_hopeful`), and of choices of tops that differ in nothing but which of several equal
    subtrees they use, one is tried (`_SubtreeSymmetry`).
    """

    def __init__(self, shape: RequestShape, locals_: Sequence[Local], budget: Budget) -> None:
        self.shape, self.locals, self.budget = shape, locals_, budget
        self.options = options_of(shape, locals_)
        #: by variable, whether no other such variable may have the same provider
        self._exclusive = [shape.isolate and variable.suffixed for variable in shape.variables]
        #: the members of each constraint, and its tops as bits
        self._constraints: list[tuple[frozenset[int], int]] = []
        self._possible: bool | None = None
        #: whether a subproblem had no solution
        self._careful = False
        #: the states behind which there is no solution
        self._hopeless: set[object] = set()
        self._symmetry: _SubtreeSymmetry | None = None

    def each(self, solve: Solve[T], source: random.Random | None = None) -> Iterator[T]:
        """Yield what `solve` finds in each subproblem. It may be called several times.

        :param source: tries tops in a random order; None: in their own
        """
        if self._possible is None:
            self._possible = all(self.options) and self._narrow()
        if not self._possible:
            return
        try:
            yield from self._found(solve, source)
        finally:
            self.budget.forget(len(self._hopeless))
            self._hopeless.clear()

    def _narrow(self) -> bool:
        """Keep the tops that can serve their constraint, and the options in their subtrees.

        Return whether each constraint has a top. Options that one constraint loses may have been
        the tops of another one, so this is repeated until nothing changes.
        """
        options, before = self.options, None
        while options != before:
            before = list(options)
            self._constraints = []
            for members in self.shape.subtrees:
                tops, reached = 0, dict.fromkeys(members, 0)
                for top in bits(union(options, members)):
                    narrowed = self._below(members, top, options)
                    if narrowed is not None and self._can_serve(members, top, narrowed):
                        tops |= 1 << top
                        for index in members:
                            reached[index] |= narrowed[index]
                if not tops:
                    return False
                options = [reached.get(index, mask) for index, mask in enumerate(options)]
                self._constraints.append((members, tops))
        self.options = options
        # few tops first, so that dead ends show early
        self._constraints.sort(key=lambda constraint: constraint[1].bit_count())
        return True

    def _below(self, members: frozenset[int], top: int, options: list[int]) -> list[int] | None:
        """Return the options, those of the members without the ones outside the top's subtree.

        None if a member has no option left, or none of them can be on the top.
        """
        self.budget.spend()
        below = self.locals[top].below
        narrowed = list(options)
        used = False
        for index in members:
            narrowed[index] &= below
            if not narrowed[index]:
                return None
            used = used or bool(narrowed[index] >> top & 1)
        return narrowed if used else None

    def _can_serve(self, members: frozenset[int], top: int, options: list[int]) -> bool:
        """Say whether each exclusive member may have a provider of its own, one of them the top."""
        apart = [index for index in members if self._exclusive[index]]
        if len(apart) < 2:
            return True
        here = 1 << top
        for first in (index for index in members if options[index] & here):
            rest = [index for index in apart if index != first]
            taken = here if self._exclusive[first] else 0
            if self._apart([options[index] & ~taken for index in rest]):
                return True
        return False

    def _apart(self, masks: Sequence[int]) -> bool:
        """Say whether there is a local for each mask, and no two have the same."""
        self.budget.spend(10 + len(self.locals))
        kinds: dict[int, int] = {}
        able: dict[int, int] = collections.Counter()
        wants: dict[int, int] = collections.Counter()
        for mask in masks:
            if mask not in kinds:
                kinds[mask] = 1 << len(kinds)
                for number in bits(mask):
                    able[number] |= kinds[mask]
            wants[kinds[mask]] += 1
        return can_supply(wants, ((kind, 1) for kind in able.values()))

    def _found(self, solve: Solve[T], source: random.Random | None) -> Iterator[T]:
        """Choose a top for one constraint after the other; yield what `solve` finds with all.

        A depth-first search: `way` has the choices made so far, the latest last.
        """
        # no recursion: there may be more constraints than Python allows calls
        way = [_Step(self._choices(self.options, [], source), [])]
        while way:
            choice = next(way[-1].choices, None)
            if choice is None:
                step = way.pop()
                if way:
                    self._note(step, way[-1])
                continue
            options, tops = choice
            if len(tops) < len(self._constraints):
                way.append(_Step(self._choices(options, tops, source), tops))
                continue
            end = _Step(iter(()), tops)
            for item in solve(options, tops):
                end.found = True
                yield item
            self._note(end, way[-1])

    def _note(self, step: "_Step", before: "_Step") -> None:
        """Note whether something was found with the tops of a step."""
        if step.found:
            before.found = True
            return
        self._careful = True
        if self.budget.remember():
            self._hopeless.add(self._state(step.tops))

    def _choices(
        self, options: list[int], tops: list[Top], source: random.Random | None
    ) -> Iterator[tuple[list[int], list[Top]]]:
        """Yield the options and tops with each possible top of the next constraint."""
        members, possible = self._constraints[len(tops)]
        order = list(bits(possible))
        if source is not None:
            source.shuffle(order)
        for top in order:
            narrowed = self._below(members, top, options)
            if narrowed is None:
                continue
            chosen = [*tops, (members, top)]
            self.budget.spend(len(chosen) // _TOPS_OF_STEP)
            if not all(
                any(narrowed[index] >> local & 1 for index in within) for within, local in chosen
            ):
                continue
            if not self._careful or self._is_hopeful(narrowed, chosen):
                yield narrowed, chosen

    def _is_hopeful(self, options: list[int], tops: list[Top]) -> bool:
        if self._hopeless and self._state(tops) in self._hopeless:
            return False
        self.budget.spend(50 + len(tops))
        if not all(self._can_serve(members, top, options) for members, top in tops):
            return False
        fixed = self._on_top(options, tops)
        return fixed is not None and self._apart(
            [mask for mask, apart in zip(fixed, self._exclusive, strict=True) if apart]
        )

    def _on_top(self, options: list[int], tops: list[Top]) -> list[int] | None:
        """Return the options when each variable is on the top that no other variable can be on.

        If _N alone can be on the top n0, then n0 is the only option of _N. None if the tops can't
        have a variable each, or a variable has no option left: it is on one local only.
        """
        able: dict[int, set[int]] = {}
        for members, top in tops:
            here = {index for index in members if options[index] >> top & 1}
            known = able.setdefault(top, here)
            # isolate: the one variable on the top is a member of all constraints with this top
            able[top] = known & here if self.shape.isolate else known | here
        if not self._apart([sum(1 << index for index in here) for here in able.values()]):
            return None
        fixed = list(options)
        for top, here in able.items():
            if len(here) == 1:
                fixed[min(here)] &= 1 << top
        return fixed if all(fixed) else None

    def _state(self, tops: list[Top]) -> object:
        """Return a key: choices of tops with the same key lead to the same number of solutions."""
        self.budget.spend(20 + len(self.locals))
        if self._symmetry is None or self._symmetry.is_full:
            # the states in `_hopeless` consist of codes that mean nothing to a new symmetry
            self.budget.forget(len(self._hopeless))
            self._hopeless.clear()
            self._symmetry = _SubtreeSymmetry(self.shape, self.locals)
        return self._symmetry.state(tops)


class _SubtreeSymmetry:
    """Describes a choice of tops so that equal subtrees may change places.

    Each subtree gets a code, from what its root looks like, which constraints have it as their top,
    and the codes of the subtrees below it. Equal subtrees get the same code. In a tree of four
    equal nodes with a card each, the top n0 and the top n3 are the same state: one marked subtree
    and three without a mark.
    """

    def __init__(self, shape: RequestShape, locals_: Sequence[Local]) -> None:
        # descendants first: their codes are part of the codes of their ancestors
        self._order = sorted(range(len(locals_)), key=lambda n: locals_[n].below.bit_count())
        self._parents = _parents(self._order, locals_)
        # in which tree a provider is matters only where a candidate may use one of each tree
        self._looks = [
            (local.options, local.hits, 0 if shape.nested else local.tree, local.rooms)
            for local in locals_
        ]
        self._labels = _labels(shape)
        self._codes: dict[object, int] = {}

    @property
    def is_full(self) -> bool:
        """Say whether it has grown as large as it may."""
        return len(self._codes) > _MOST_CODES

    def state(self, tops: list[Top]) -> object:
        """Return a key: the number of tops, and the sorted codes of the outermost subtrees."""
        marks: dict[int, list[object]] = {}
        for members, top in tops:
            marks.setdefault(top, []).append(self._labels[members])
        below: dict[int, list[int]] = {}
        for number in self._order:
            marked = tuple(sorted(marks.get(number, ()), key=repr))
            code = (self._looks[number], marked, tuple(sorted(below.pop(number, ()))))
            known = self._codes.setdefault(code, len(self._codes))
            below.setdefault(self._parents[number], []).append(known)
        return (len(tops), *sorted(below[-1]))


def _parents(order: Sequence[int], locals_: Sequence[Local]) -> list[int]:
    """Return the nearest ancestor of each local, -1 for none.

    :param order: the locals, descendants first
    """
    parents = [-1] * len(locals_)
    orphans = 0
    for number in order:
        for child in bits(locals_[number].below & orphans):
            parents[child] = number
        orphans = orphans & ~locals_[number].below | 1 << number
    return parents


def _labels(shape: RequestShape) -> dict[frozenset[int], object]:
    """Return a name for each constraint; interchangeable constraints have the same name."""
    labels: dict[frozenset[int], object] = {}
    for number, members in enumerate(shape.subtrees):
        if any(members & other for other in shape.subtrees if other != members):
            labels[members] = number
            continue
        variables = [shape.variables[index] for index in members]
        labels[members] = tuple(sorted((v.kind, v.contested, bool(v.demand)) for v in variables))
    return labels
