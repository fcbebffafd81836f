"""Blocks of a request whose parts must be in one subtree, or come from one provider.

`all_blocks` returns all blocks of a request. They are of four kinds: `Block` for parts that aren't
bound to each other, `SubtreeBlock` for parts that are all in one same_subtree, `Tangle` for
competing parts that aren't all in one same_subtree, and `OneProviderBlock` for requests before
microversion 1.29.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask, Numbers, Slots
from placement.candidates.cloud.forest import Forest
from placement.candidates.cloud.free_amounts import FreeAmounts
from placement.candidates.masks.filter import RequestPart
from placement.candidates.tree_problem import RequestShape
from placement.extensions.capacity.blocks import Block, Keys, Rooms, blocks_of, demand_of, own_of


@dataclasses.dataclass(frozen=True, eq=False)
class SubtreeBlock:
    """Parts of one same_subtree: one of the providers that serve a request is above all others.

    If only providers of one part, the *top*, can be above the others, each of them has the
    providers below it for itself. Then the block is solved for each provider of the top, as if it
    were a root, and the results are added up. A NUMA node with its devices is such a case.

    A tree is *tangled* if a provider of the top has another one above it that can serve any part.
    """

    parts: tuple[RequestPart, ...]
    blocks: tuple[Block, ...]
    forest: Forest

    def rooms(self, free: FreeAmounts, keys: Keys, excluded: Mask | None = None) -> Rooms:
        """Return for how many requests the trees have room; keys are the roots of providers."""
        top, tangled = self._top()
        nearest = _nearest(self.forest, top.own)
        without_top = nearest < 0
        outside = without_top if excluded is None else without_top | excluded
        tops = np.where(without_top, np.arange(len(nearest)), nearest)
        each = _least([block.rooms(free, tops, outside) for block in self.blocks])
        options = np.flatnonzero(top.own & ~outside)
        roots, size = keys[options], len(keys)
        most = np.bincount(roots, each.most[options], size).astype(np.int64)
        unsure = np.bincount(roots, ~each.sure[options], size) > 0
        if tangled.any():
            loose = _least([block.rooms(free, keys, excluded) for block in self.blocks])
            most = np.where(tangled, loose.most, most)
        return Rooms(most, ~(tangled | unsure) | (most == 0))

    def _top(self) -> tuple[RequestPart, Mask]:
        """Return the part that is the top of most trees, and the roots of the tangled trees."""
        tops = []
        for part in self.parts:
            tangled = self._tangled(part)
            if not tangled.any():
                return part, tangled
            tops.append((part, tangled))
        return min(tops, key=lambda one: int(one[1].sum()))

    def _tangled(self, top: RequestPart) -> Mask:
        """Return the roots of the trees that are tangled if this part is the top."""
        forest = self.forest
        below = np.flatnonzero(top.own & (forest.parent >= 0))
        under = _nearest(forest, own_of(self.parts))[forest.parent[below]] >= 0
        tangled = np.zeros(forest.size, np.bool_)
        tangled[forest.root[below[under]]] = True
        return tangled


@dataclasses.dataclass(frozen=True, eq=False)
class Tangle:
    """Parts that compete, of which only some are in a same_subtree, or which are in several.

    Arithmetic gives no more than an upper bound for them.
    """

    parts: tuple[RequestPart, ...]
    blocks: tuple[Block, ...]

    def rooms(self, free: FreeAmounts, keys: Keys, excluded: Mask | None = None) -> Rooms:
        """Return for how many requests there is room at most."""
        loose = _least([block.rooms(free, keys, excluded) for block in self.blocks])
        return Rooms(loose.most, loose.most == 0)


@dataclasses.dataclass(frozen=True, eq=False)
class OneProviderBlock:
    """All parts of a request of which one provider has to serve all (before 1.29).

    :param trait_sets: for each set of traits of which it needs one, the providers that have one
    """

    parts: tuple[RequestPart, ...]
    isolate: bool
    trait_sets: tuple[Mask, ...]

    def rooms(self, free: FreeAmounts, keys: Keys, excluded: Mask | None = None) -> Rooms:
        """Return for how many requests the providers of each key have room."""
        size = len(keys)
        most: Numbers = np.zeros(size, np.int64)
        if not Block(self.parts, self.isolate).apart:
            able = np.logical_and.reduce([*(part.own for part in self.parts), *self.trait_sets])
            options = np.flatnonzero(able if excluded is None else able & ~excluded)
            demand = demand_of(self.parts)
            times = free.times(demand, options)
            times[free.per_request(demand, options) < 1] = 0
            most = np.bincount(keys[options], times, size).astype(np.int64)
        return Rooms(most, np.ones(size, np.bool_))


AnyBlock = Block | SubtreeBlock | Tangle | OneProviderBlock


def all_blocks(
    parts: Sequence[RequestPart],
    shape: RequestShape,
    trait_sets: tuple[Mask, ...],
    forest: Forest,
    budget: Budget,
) -> list[AnyBlock]:
    """Return all parts of a request as blocks. Raises SearchEnded if the budget is used up.

    :param trait_sets: for each set of traits of which the unsuffixed parts need one, the providers
        that have one
    """
    if not shape.nested and forest.nested and len(parts) > 1:
        return [OneProviderBlock(tuple(parts), shape.isolate, trait_sets)]
    numbers = {id(part): number for number, part in enumerate(parts)}
    found: list[AnyBlock] = []
    bound: list[set[int]] = []
    for block in blocks_of(parts, shape.isolate, budget):
        members = {numbers[id(part)] for part in block.parts}
        subtrees = [subtree for subtree in shape.subtrees if members & subtree]
        if not subtrees:
            found.append(block)
            continue
        wanted = members.union(*subtrees)
        joined = [other for other in bound if other & wanted]
        bound = [other for other in bound if other not in joined] + [wanted.union(*joined)]
    for wanted in bound:
        chosen = tuple(parts[number] for number in sorted(wanted))
        blocks = tuple(blocks_of(chosen, shape.isolate, budget))
        inside = [subtree for subtree in shape.subtrees if subtree & wanted]
        if inside == [wanted]:
            found.append(SubtreeBlock(chosen, blocks, forest))
        else:
            found.append(Tangle(chosen, blocks))
    return found


def _least(rooms: Sequence[Rooms]) -> Rooms:
    found = rooms[0]
    for other in rooms[1:]:
        found = found.least(other)
    return found


def _nearest(forest: Forest, mask: Mask) -> Slots:
    """Return by slot the nearest provider of a mask, from the slot itself upwards; -1: none."""
    found = np.where(mask, np.arange(forest.size, dtype=np.int32), np.int32(-1))
    waiting = np.flatnonzero((found < 0) & (forest.parent >= 0))
    above = forest.parent[waiting]
    # a damaged database may have a loop; no path to a root is longer than the largest tree
    for _ in range(int(forest.count.max(initial=0))):
        if not len(waiting):
            break
        is_in_mask = mask[above]
        found[waiting[is_in_mask]] = above[is_in_mask]
        waiting, above = waiting[~is_in_mask], forest.parent[above[~is_in_mask]]
        waiting, above = waiting[above >= 0], above[above >= 0]
    return found
