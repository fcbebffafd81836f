"""From anchors to problems: what each tree has for a request. Equal trees share one search.

An *anchor* is a root whose tree may have candidates. All that the search within a tree depends on
is written down as a few words for each provider. Two hosts with the same words have the same
problem, whatever else differs::

    provider   options  hits  room of VGPU  place of the parent
    h0         0b00     0b0   0             -1
    h0.0       0b01     0b1   0              0
    h0.1       0b10     0b0   1              0

`options` are the kinds of variables that the provider can serve, `hits` the trait sets that it has
a trait of. Rooms are those of contested classes (see `Contested`), without what is of no use for
the request. Parents matter with same_subtree only.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask, Numbers, Slots
from placement.candidates.cloud.sharing_providers import Lenders
from placement.candidates.cloud.snapshot import SearchedTrees
from placement.candidates.masks.filter import FilteredGroup, RequestPart, contested
from placement.candidates.request import CandidateRequest
from placement.candidates.slots import SearchedSlots, WholeSlots
from placement.candidates.tree_problem import Local, RequestShape, TreeProblem, Variable
from placement.candidates.trees.tree_solutions import (
    ProblemFamily,
    SingleProviderSolution,
    TreeSolutions,
)

#: masks that are packed into one word of a tree's description, an int64
_BITS = 60
#: how many trees are looked at together: few at first, as the limit may soon be reached
_FIRST_CHUNK, _LAST_CHUNK = 16, 4096
#: in how many slots the first simple anchors are looked for, if a few are enough
_FIRST_SLOTS = 2048
#: in place of the tree of a local that is not lent
_OWN_TREE = -1
#: steps of the budget that a problem costs before it is searched
_DESCRIBING = 50
_NO_SLOTS = SearchedSlots(np.zeros(0, np.int32))
#: what trees of the same problem have in common: their description, and the providers lent to them
_Key = tuple[bytes, tuple[int, ...]]


class SubsetTooSmall(Exception):
    """A subset of the trees doesn't tell what is wanted: other trees may come before its own."""


class AnchorTrees:
    """The anchors of a request as problems.

    :param trees: where the search looks
    :param groups: the request's groups with their masks
    """

    def __init__(
        self,
        trees: SearchedTrees,
        request: CandidateRequest,
        groups: Sequence[FilteredGroup],
        budget: Budget,
    ) -> None:
        self._trees, self._cloud = trees, trees.cloud
        self._budget = budget
        self.groups = groups
        self.parts: list[RequestPart] = [part for group in groups for part in group.parts]
        self._kinds, self._masks = _kinds(self.parts)
        self.trait_sets = tuple(mask for group in groups for mask in group.trait_sets)
        self._contested = contested(self.parts)
        self.shape = self._shape(request)
        sharing = self._cloud.sharing
        lending = np.zeros(len(sharing), np.bool_)
        for _, shared in self._masks:
            lending |= shared[sharing]
        self.lenders = Lenders(trees, sharing[lending].tolist()) if lending.any() else None
        self._sharing = set(sharing.tolist()) if self.lenders else set()
        self._known: dict[_Key, TreeSolutions] = {}

    def _shape(self, request: CandidateRequest) -> RequestShape:
        variables = tuple(
            Variable(
                part.suffix,
                kind,
                part.demand,
                tuple((key, amount) for key, amount in part.demand if key in self._contested),
            )
            for part, kind in zip(self.parts, self._kinds, strict=True)
        )
        subtrees = tuple(
            frozenset(n for n, variable in enumerate(variables) if variable.suffix in suffixes)
            for suffixes in dict.fromkeys(request.same_subtree)
            if len(suffixes) > 1
        )
        return RequestShape(
            variables, subtrees, len(self.trait_sets), request.isolate, request.nested
        )

    def split(self, roots: Mask, most: int | None = None) -> tuple[SearchedSlots, SearchedSlots]:
        """Return the simple anchors, and all others.

        A simple anchor is a tree by itself that no sharing provider serves. It is at most one
        candidate, which takes arithmetic and no search. Those without a candidate are left out.

        :param most: how many simple anchors are enough; None: all
        """
        cloud, forest = self._cloud, self._cloud.forest
        if not forest.nested and not self.lenders:
            simple, others = roots, _NO_SLOTS
        else:
            simple = roots & (forest.count == 1)
            if self.lenders:
                simple &= ~self.lenders.mask()
            others = SearchedSlots(np.flatnonzero(roots & ~simple).astype(np.int32))
        if self.shape.isolate and sum(v.suffixed for v in self.shape.variables) > 1:
            return _NO_SLOTS, others
        for mask in self.trait_sets:
            simple = simple & mask
        for class_id, one in self._contested.items():
            simple = simple & cloud.column(class_id).has_room(one.total, cloud.size)
        return _first_slots(simple, most), others

    def families(self, simple: Slots, others: Slots) -> Iterator[ProblemFamily]:
        """Yield the trees of anchors, those with the same problem together: families.

        Raises SubsetTooSmall where the order depends on trees that are not searched.

        :param simple: simple anchors, see `split`
        :param others: other anchors, ascending; they are described a chunk at a time
        """
        if len(simple):
            solution = SingleProviderSolution(self.shape, self._budget)
            roots = self._trees.in_whole(SearchedSlots(simple))
            yield ProblemFamily(solution, roots, WholeSlots(roots[:, None]))
        start, length = 0, _FIRST_CHUNK
        bound = self._trees.bound
        if bound is not None:
            in_whole = self._trees.in_whole(SearchedSlots(others))
            others = others[in_whole <= bound]
        while bound is not None or start < len(others):
            if bound is not None and start + length > len(others):
                # trees behind the bound belong to this chunk, and may come before others of it
                raise SubsetTooSmall
            self._budget.look()
            yield from self._chunk(SearchedSlots(others[start : start + length]))
            start += length
            length = min(length * 4, _LAST_CHUNK)

    def _chunk(self, roots: SearchedSlots) -> Iterator[ProblemFamily]:
        counts = self._cloud.forest.count[roots]
        if counts[0] == counts[-1] and np.all(counts == counts[0]):
            yield from self._alike(roots, int(counts[0]))
            return
        for count in np.unique(counts).tolist():
            yield from self._alike(SearchedSlots(roots[counts == count]), count)

    def _alike(self, roots: SearchedSlots, count: int) -> Iterator[ProblemFamily]:
        """Yield families of trees with equally many providers."""
        forest = self._cloud.forest
        members = SearchedSlots(forest.order[forest.start[roots][:, None] + np.arange(count)])
        described = self._describe(members)
        text = described.tobytes()
        length = len(text) // len(roots)
        if not self.lenders and text == text[:length] * len(roots):
            # one problem for all
            solutions = self._solutions((text[:length], ()), described[0], roots)
            yield self._family(solutions, roots, members)
            return
        numbers: dict[_Key, list[int]] = {}
        lent: tuple[int, ...] = ()
        for number in range(len(roots)):
            if self.lenders:
                lent = self.lenders.of_tree(int(roots[number]), members[number].tolist())
            key = (text[number * length : (number + 1) * length], lent)
            numbers.setdefault(key, []).append(number)
        for key, same in numbers.items():
            alike = SearchedSlots(roots[same])
            solutions = self._solutions(key, described[same[0]], alike)
            yield self._family(solutions, alike, SearchedSlots(members[same]))

    def _family(
        self, solutions: TreeSolutions, roots: SearchedSlots, members: SearchedSlots
    ) -> ProblemFamily:
        return ProblemFamily(solutions, self._trees.in_whole(roots), self._trees.in_whole(members))

    def _solutions(self, key: _Key, description: Numbers, roots: SearchedSlots) -> TreeSolutions:
        """Return the solutions of the problem that some trees have, which are found once.

        :param description: one of the trees, as `_describe` returns it
        :param roots: the roots of these trees
        """
        solutions = self._known.get(key)
        if solutions is None:
            self._budget.spend(_DESCRIBING)
            problem = self._problem(description.tolist(), key[1], roots)
            solutions = self._known[key] = TreeSolutions(problem, self._budget)
        return solutions

    def _describe(self, members: SearchedSlots) -> Numbers:
        """Return trees × members × words: all that the search within a tree depends on."""
        forest = self._cloud.forest
        words = []
        own = [mask for mask, _ in self._masks]
        for masks in (own, self.trait_sets):
            for begin in range(0, len(masks), _BITS):
                word = np.zeros(members.shape, np.int64)
                for bit, mask in enumerate(masks[begin : begin + _BITS]):
                    word |= mask[members].astype(np.int64) << bit
                words.append(word)
        for class_id, one in self._contested.items():
            words.append(one.rounded(self._cloud.column(class_id).rooms_at(members)))
        if self.shape.subtrees:
            parents = forest.parent[members]
            words.append(np.where(parents >= 0, forest.place[parents], -1).astype(np.int64))
        if self._sharing:
            sharing = self._cloud.sharing
            words.append(np.isin(members, sharing).astype(np.int64))
        return np.ascontiguousarray(np.stack(words, axis=2))

    def _problem(
        self, rows: list[list[int]], lent: tuple[int, ...], roots: SearchedSlots
    ) -> TreeProblem:
        option_words = -(-len(self._masks) // _BITS)
        hit_words = -(-len(self.trait_sets) // _BITS)
        nested = bool(self.shape.subtrees)
        kept, found, sharing, parents = [], [], [], []
        for place, row in enumerate(rows):
            options = _joined(row[:option_words])
            words = iter(row[option_words + hit_words :])
            rooms = tuple(next(words) for _ in self._contested)
            parents.append(next(words) if nested else -1)
            if not options:
                continue
            kept.append(place)
            hits = _joined(row[option_words : option_words + hit_words])
            found.append((options, hits, _OWN_TREE, rooms))
            sharing.append(bool(self._sharing) and bool(next(words)))
        found += [self._lent_local(slot) for slot in lent]
        sharing += [True] * len(lent)
        below = self._below(kept, parents, lent) if nested else [0] * len(found)
        locals_ = [
            Local(options, hits, mask, tree, rooms)
            for (options, hits, tree, rooms), mask in zip(found, below, strict=True)
        ]
        lenders = self._trees.in_whole(SearchedSlots(np.array(lent, np.int32))).tolist()
        root = self._trees.in_whole(roots)[0].item()
        return TreeProblem(self.shape, locals_, kept, tuple(lenders), sharing, root)

    def _below(self, kept: list[int], parents: list[int], lent: tuple[int, ...]) -> list[int]:
        """Return the locals in the subtree of each local, as bits."""
        lineages = [_upwards(place, parents) for place in kept]
        # slots of other trees are negative here, so that they differ from places
        lineages += [[~other for other in self._cloud.forest.lineage(slot)] for slot in lent]
        below: dict[int, int] = {}
        for number, lineage in enumerate(lineages):
            for name in lineage:
                below[name] = below.get(name, 0) | 1 << number
        return [below[name] for name in (*kept, *(~slot for slot in lent))]

    def _lent_local(self, slot: int) -> tuple[int, int, int, tuple[int, ...]]:
        options = sum(1 << n for n, (_, shared) in enumerate(self._masks) if shared[slot])
        hits = sum(1 << n for n, mask in enumerate(self.trait_sets) if mask[slot])
        rooms = tuple(
            int(one.rounded(self._cloud.column(key).rooms_at(np.array([slot])))[0])
            for key, one in self._contested.items()
        )
        return options, hits, int(self._cloud.forest.root[slot]), rooms


class Anchors(NamedTuple):
    """The roots whose trees may have candidates of a request.

    :param simple: those that are a tree by themselves and a candidate
    :param others: those whose trees need a search
    """

    trees: AnchorTrees
    simple: SearchedSlots
    others: SearchedSlots

    def families(self) -> Iterator[ProblemFamily]:
        """Yield the trees, those with the same problem together."""
        return self.trees.families(self.simple, self.others)


def _first_slots(mask: Mask, most: int | None) -> SearchedSlots:
    """Return the first slots of a mask: `most` of them or more, if there are as many."""
    length = len(mask) if most is None else _FIRST_SLOTS
    while True:
        found = np.flatnonzero(mask[:length])
        if most is None or len(found) >= most or length >= len(mask):
            return SearchedSlots(found.astype(np.int32))
        length *= 8


def _joined(words: list[int]) -> int:
    """Return one set of bits from the words that it was packed into."""
    value = 0
    for number, word in enumerate(words):
        value |= word << (number * _BITS)
    return value


def _upwards(place: int, parents: list[int]) -> list[int]:
    """Return the places of a provider and its ancestors, upwards; a loop of parents ends."""
    found = [place]
    while (place := parents[place]) >= 0 and len(found) <= len(parents):
        found.append(place)
    return found


def _kinds(parts: Sequence[RequestPart]) -> tuple[list[int], list[tuple[Mask, Mask]]]:
    """Return the kind of each part, and the masks of each kind.

    Parts of one kind have the same masks. `GroupFilter` gives equal groups the same objects.
    """
    numbers: dict[tuple[int, int], int] = {}
    masks: list[tuple[Mask, Mask]] = []
    kinds = []
    for part in parts:
        key = (id(part.own), id(part.shared))
        if key not in numbers:
            numbers[key] = len(masks)
            masks.append((part.own, part.shared))
        kinds.append(numbers[key])
    return kinds, masks
