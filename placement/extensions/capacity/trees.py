"""How many requests fit into trees of several providers, and trees that share providers.

A *supply* is what serves one block of the request, or one part that sharing providers can serve,
too. A tree has room for as many requests as its supply with the least room. Where that is an upper
bound only, the tree is *hard*, and `filling` serves requests one after the other in it.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.cloud.columns import Mask, Numbers, Slots
from placement.candidates.cloud.free_amounts import MOST, FreeAmounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.masks.filter import RequestPart
from placement.candidates.trees.tree_problems import AnchorTrees
from placement.candidates.trees.tree_solutions import TreeSolutions
from placement.extensions.capacity.blocks import Block, Rooms, demand_of, own_of
from placement.extensions.capacity.filling import Filling
from placement.extensions.capacity.hard_trees import HardTrees
from placement.extensions.capacity.pools import Pools, pools_of
from placement.extensions.capacity.subtrees import AnyBlock, OneProviderBlock, all_blocks


class Limits:
    """Which resource class each tree runs out of first."""

    def __init__(self, size: int) -> None:
        #: ids of resource classes, by slot of the tree's root; -1: none
        self.classes: Numbers = np.full(size, -1, np.int64)
        self._times = np.full(size, np.iinfo(np.int64).max, np.int64)
        self._shares = np.full(size, np.inf)

    def note(
        self,
        class_id: int,
        roots: Slots | npt.NDArray[np.intp],
        times: Numbers,
        shares: npt.NDArray[np.float64],
    ) -> None:
        """Note how much trees have of a class.

        :param times: for how many requests that is enough
        :param shares: the same as fractions, which decide between classes with equal `times`: with
            11 VCPU and 10 MEMORY_MB, and requests for 2 of each, both are enough for 5
        """
        known = self._times[roots]
        less = (times < known) | ((times == known) & (shares < self._shares[roots]))
        chosen = roots[less]
        self.classes[chosen] = class_id
        self._times[chosen], self._shares[chosen] = times[less], shares[less]


@dataclasses.dataclass(frozen=True, eq=False)
class Supply:
    """What serves some parts of a request: providers of each tree, and sharing providers.

    :param rooms: for how many requests the trees' own providers have room
    :param pools: the sharing providers; None: there are none
    """

    parts: tuple[RequestPart, ...]
    rooms: Rooms
    pools: Pools | None = None

    @property
    def alone(self) -> Numbers:
        """Return for how many requests a tree has room if no other tree uses what they share."""
        if self.pools is None:
            return self.rooms.most
        return self.rooms.most + self.pools.room


@dataclasses.dataclass(frozen=True)
class Total:
    """How many requests fit into some trees together.

    :param limits: the ids of the classes that trees run out of first, by slot of the root
    """

    low: int
    high: int
    limits: Numbers


class TreesRoom:
    """For how many requests some trees have room.

    :param roots: the roots of the trees
    :param limits: gets how much of each class the trees have
    :param budget: what filling trees may cost. If it is used up, hard trees stay empty
    :param refining: what it may cost to look for better fillings
    """

    def __init__(
        self,
        snapshot: Snapshot,
        trees: AnchorTrees,
        roots: Slots,
        free: FreeAmounts,
        limits: Limits,
        budget: Budget,
        refining: Budget,
    ) -> None:
        self._snapshot, self._trees = snapshot, trees
        self._free, self._budget, self._refining = free, budget, refining
        self._roots = np.zeros(snapshot.size, np.bool_)
        self._roots[roots] = True
        blocks = all_blocks(trees.parts, trees.shape, trees.trait_sets, snapshot.forest, budget)
        self._supplies = [supply for block in blocks for supply in self._supplies_of(block)]
        self._note_limits(limits)
        #: by slot of a root: how many fit if the tree is alone, at most
        self.high: Numbers = np.where(
            self._roots, np.minimum.reduce([supply.alone for supply in self._supplies]), 0
        )
        sure = np.logical_and.reduce([supply.rooms.sure for supply in self._supplies])
        if not any(isinstance(block, OneProviderBlock) for block in blocks):
            sure = sure & self._surely_has_traits()
        self._hard = self._roots & ~sure & (self.high > 0)
        #: by slot of a root: how many fit if the tree is alone, at least
        self.low: Numbers = np.where(self._hard, 0, self.high)
        self._hard_trees: list[tuple[HardTrees, Filling]] = []
        if self._hard.any():
            self._fill_each()

    @property
    def shares(self) -> bool:
        """Say whether trees share providers that serve the request."""
        return any(supply.pools is not None for supply in self._supplies)

    def total(self, roots: Mask, alone: Total) -> Total:
        """Return how many fit into some trees together, which share providers.

        What sharing providers have is shared out among the trees. Trees that aren't hard come
        first; hard ones are filled with what is left.

        :param roots: the roots of the trees, also of trees of one provider
        :param alone: the sums of how many fit into each of them if it is alone
        """
        pooled = [supply for supply in self._supplies if supply.pools is not None]
        mine = roots & self._roots
        others = alone.low - int(self.low[mine].sum())
        high = int(self.high[mine].sum())
        wanted, limits = np.where(mine, self.high, 0), alone.limits
        for supply in pooled:
            got, short, _ = self._share_out(supply, wanted)
            high = min(high, int(got.sum()))
            for class_id, _ in supply.parts[0].demand[:1]:
                limits = np.where(short, class_id, limits)
        low, left = self._share_out_all(pooled, np.where(self._hard, 0, wanted))
        if low < high:
            low += self._fill_together(mine, left)
        return Total(others + low, others + high, limits)

    def _share_out(self, supply: Supply, wanted: Numbers) -> tuple[Numbers, Mask, Numbers]:
        """Return by slot of a root how much of `wanted` a supply serves; see `Pools.shared_out`."""
        assert supply.pools is not None
        own = np.minimum(wanted, supply.rooms.most)
        got, short, left = supply.pools.shared_out(wanted - own, self._budget)
        return own + got, short, left

    def _share_out_all(
        self, pooled: list[Supply], wanted: Numbers
    ) -> tuple[int, dict[tuple[int, int], int]]:
        """Return how many requests all supplies together serve, and what they leave.

        What they leave of sharing providers is by class and slot.
        """
        for supply in pooled:
            wanted, _, _ = self._share_out(supply, wanted)
        left: dict[tuple[int, int], int] = {}
        for supply in pooled:
            assert supply.pools is not None
            _, _, times = self._share_out(supply, wanted)
            slots = supply.pools.slots
            used = supply.pools.times - times
            for class_id, amount in supply.parts[0].demand:
                rest = self._free.of(class_id, slots) - used * amount
                for slot, free in zip(slots.tolist(), rest.tolist(), strict=True):
                    key = class_id, slot
                    left[key] = min(free, left.get(key, free))
        return int(wanted.sum()), left

    def _supplies_of(self, block: AnyBlock) -> Iterator[Supply]:
        """Yield the supplies that serve a block."""
        keys = self._snapshot.forest.root
        pools = [self._pools(part) for part in block.parts]
        if not any(lent is not None for lent in pools):
            yield Supply(block.parts, block.rooms(self._free, keys))
            return
        reached = np.zeros(len(keys), np.bool_)
        for part, lent in zip(block.parts, pools, strict=True):
            lending = np.zeros(len(keys), np.bool_)
            if lent is not None:
                lending[lent.slots] = True
                reached |= lent.set_of >= 0
            rooms = Block((part,), isolate=False).rooms(self._free, keys, lending)
            yield Supply((part,), rooms, lent)
        if len(block.parts) > 1:
            # the supplies of single parts leave out that parts compete for the same providers
            rooms = block.rooms(self._free, keys)
            most = np.where(reached, MOST, rooms.most)
            yield Supply(block.parts, Rooms(most, rooms.sure & ~reached))

    def _pools(self, part: RequestPart) -> Pools | None:
        sharing = self._snapshot.sharing
        if not self._trees.lenders or not part.shared[sharing].any():
            return None
        return pools_of(self._snapshot, part, self._free)

    def _surely_has_traits(self) -> Mask:
        """Return the trees where whatever serves the unsuffixed parts has the traits they need.

        Each set of traits needs one part whose providers all have one of these traits.
        """
        root = self._snapshot.forest.root
        all_sets = np.ones(len(root), np.bool_)
        for traits in self._trees.trait_sets:
            surely = np.zeros(len(root), np.bool_)
            for part in self._trees.parts:
                if part.suffix:
                    continue
                without = np.zeros(len(root), np.bool_)
                without[root[part.own & ~traits]] = True
                lent = self._pools(part)
                if lent is not None and not traits[lent.slots].all():
                    without |= lent.set_of >= 0
                surely |= ~without
            all_sets &= surely
        return all_sets

    def _note_limits(self, limits: Limits) -> None:
        """Note for each class how much of it the trees have."""
        root, size = self._snapshot.forest.root, self._snapshot.size
        rooms = [supply.alone for supply in self._supplies]
        least = np.minimum.reduce(rooms)
        for supply, room in zip(self._supplies, rooms, strict=True):
            # only the supplies with the least room limit a tree
            roots = np.flatnonzero(self._roots & (room == least))
            options = np.flatnonzero(own_of(supply.parts)) if len(roots) else roots
            for class_id, total in demand_of(supply.parts) if len(roots) else ():
                amounts = np.bincount(root[options], self._free.of(class_id, options), size)
                times = room[roots]
                shares = amounts[roots] / total if supply.pools is None else times.astype(float)
                limits.note(class_id, roots, times, shares)

    def _fill_each(self) -> None:
        """Fill each hard tree as if it were alone; those after the end of the budget stay empty."""
        classes = tuple(key for key, _ in demand_of(self._trees.parts))
        hard = np.flatnonzero(self._hard).astype(np.int32)
        try:
            for family in self._trees.families(np.zeros(0, np.int32), hard):
                assert isinstance(family.solutions, TreeSolutions)
                problem = family.solutions.problem
                filling = Filling(problem, classes, self._budget, self._refining)
                trees = HardTrees.of(family, self._snapshot, self._free, classes)
                if self.shares:
                    self._hard_trees.append((trees, filling))
                self._fill(trees, filling)
        except (OutOfTime, OutOfMemory):
            return

    def _fill(self, trees: HardTrees, filling: Filling) -> None:
        """Fill trees with one problem; of those whose providers have the same, only one."""
        roots = np.array(trees.roots)
        for which in trees.alike():
            same = roots[which]
            number = int(which[0])
            # all of them have room for as many
            most = int(self.high[same[0]])
            found = filling.fill(trees.state(number), trees.units_of(number), most)
            self.low[same] = found.count
            if found.best:
                self.high[same] = found.count

    def _fill_together(self, roots: Mask, left: dict[tuple[int, int], int]) -> int:
        """Fill hard trees one after the other, with what is left of sharing providers."""
        count = 0
        try:
            for trees, filling in self._hard_trees:
                for number, root in enumerate(trees.roots):
                    if roots[root]:
                        count += trees.take(number, filling, int(self.high[root]), left)
        except (OutOfTime, OutOfMemory):
            pass
        return count
