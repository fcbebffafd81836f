"""Blocks of a request whose parts are bound to each other: to one subtree, or to one provider."""

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
    """Parts of one same_subtree: one of the providers is above all others of a request.

    Where only the providers of one part, the *top*, can be above the others, each of them has the
    providers below it for itself. Then the block is solved for each of them, and the results are
    added up.
    """

    parts: tuple[RequestPart, ...]
    blocks: tuple[Block, ...]
    forest: Forest

    def rooms(self, free: FreeAmounts, keys: Keys, but: Mask | None = None) -> Rooms:
        """Return for how many requests the trees have room; keys are the roots of providers."""
        top, tangled = self._top()
        above = _nearest(self.forest, top.own)
        nowhere = above < 0
        outside = nowhere if but is None else nowhere | but
        tops = np.where(nowhere, np.arange(len(above)), above)
        each = _least([block.rooms(free, tops, outside) for block in self.blocks])
        options = np.flatnonzero(top.own & ~outside)
        roots, size = keys[options], len(keys)
        most = np.bincount(roots, each.most[options], size).astype(np.int64)
        unsure = np.bincount(roots, ~each.sure[options], size) > 0
        if tangled.any():
            loose = _least([block.rooms(free, keys, but) for block in self.blocks])
            most = np.where(tangled, loose.most, most)
        return Rooms(most, ~(tangled | unsure) | (most == 0))

    def _top(self) -> tuple[RequestPart, Mask]:
        """Return the part that is on top, and the roots of the trees where others may be, too."""
        found = []
        for part in self.parts:
            tangled = self._tangled(part)
            if not tangled.any():
                return part, tangled
            found.append((part, tangled))
        return min(found, key=lambda one: int(one[1].sum()))

    def _tangled(self, top: RequestPart) -> Mask:
        forest = self.forest
        below = np.flatnonzero(top.own & (forest.parent >= 0))
        under = _nearest(forest, own_of(self.parts))[forest.parent[below]] >= 0
        tangled = np.zeros(forest.size, np.bool_)
        tangled[forest.root[below[under]]] = True
        return tangled


@dataclasses.dataclass(frozen=True, eq=False)
class Tangle:
    """Parts that are bound to each other in a way that arithmetic gives no more than bounds for."""

    parts: tuple[RequestPart, ...]
    blocks: tuple[Block, ...]

    def rooms(self, free: FreeAmounts, keys: Keys, but: Mask | None = None) -> Rooms:
        """Return for how many requests there is room at most."""
        loose = _least([block.rooms(free, keys, but) for block in self.blocks])
        return Rooms(loose.most, loose.most == 0)


@dataclasses.dataclass(frozen=True, eq=False)
class OneProviderBlock:
    """All parts of a request, where one provider of a tree has to serve all (before 1.29).

    :param trait_sets: providers by set of traits of which the provider needs one each
    """

    parts: tuple[RequestPart, ...]
    isolate: bool
    trait_sets: tuple[Mask, ...]

    def rooms(self, free: FreeAmounts, keys: Keys, but: Mask | None = None) -> Rooms:
        """Return for how many requests the providers of each key have room."""
        size = len(keys)
        most: Numbers = np.zeros(size, np.int64)
        if not Block(self.parts, self.isolate).apart:
            able = np.logical_and.reduce([*(part.own for part in self.parts), *self.trait_sets])
            options = np.flatnonzero(able if but is None else able & ~but)
            demand = demand_of(self.parts)
            times = free.times(demand, options)
            times[free.per_request(demand, options) < 1] = 0
            most = np.bincount(keys[options], times, size).astype(np.int64)
        return Rooms(most, np.ones(size, np.bool_))


AnyBlock = Block | SubtreeBlock | Tangle | OneProviderBlock


def bound_blocks(
    parts: Sequence[RequestPart],
    shape: RequestShape,
    trait_sets: tuple[Mask, ...],
    forest: Forest,
    budget: Budget,
) -> list[AnyBlock]:
    """Return all parts of a request as blocks. Raise SearchEnded when the budget is used up.

    :param trait_sets: providers by set of traits that the unsuffixed parts need
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
    # a damaged database may have a loop; no lineage is longer than the largest tree
    for _ in range(int(forest.count.max(initial=0))):
        if not len(waiting):
            break
        there = mask[above]
        found[waiting[there]] = above[there]
        waiting, above = waiting[~there], forest.parent[above[~there]]
        waiting, above = waiting[above >= 0], above[above >= 0]
    return found
