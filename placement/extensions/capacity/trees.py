"""How many requests fit into trees of several providers, and trees that share providers.

What a tree has room for is the least that any *supply* has room for: the providers of one block of
the request, or of one part that shared providers can serve, too.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.cloud.columns import Mask, Numbers, Slots
from placement.candidates.cloud.free_amounts import MOST, FreeAmounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.masks.filter import RequestPart
from placement.candidates.trees.tree_problems import AnchorTrees, ProblemFamily
from placement.candidates.trees.tree_solutions import TreeSolutions
from placement.extensions.capacity.blocks import Block, Rooms, demand_of, own_of
from placement.extensions.capacity.filling import Filling, State
from placement.extensions.capacity.limits import Limits
from placement.extensions.capacity.pools import Pools, pools_of
from placement.extensions.capacity.subtrees import AnyBlock, OneProviderBlock, bound_blocks


@dataclasses.dataclass(frozen=True, eq=False)
class Supply:
    """What serves some parts of a request: providers of each tree, and shared providers.

    :param rooms: for how many requests the trees' own providers have room
    :param pools: the shared providers; None: there are none
    """

    parts: tuple[RequestPart, ...]
    rooms: Rooms
    pools: Pools | None = None

    @property
    def alone(self) -> Numbers:
        """Return for how many requests there is room if nobody else uses what is shared."""
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
    """For how many requests trees have room.

    :param roots: the roots of the trees
    :param limits: is told which classes the trees run out of
    :param budget: what filling trees may cost. When it is used up, less is known
    :param refining: what looking for better fillings may cost
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
        blocks = bound_blocks(trees.parts, trees.shape, trees.trait_sets, snapshot.forest, budget)
        self._supplies = [supply for block in blocks for supply in self._supplies_of(block)]
        self._note(limits)
        #: by slot of a root: how many fit if the tree is alone, at most
        self.high: Numbers = np.where(
            self._roots, np.minimum.reduce([supply.alone for supply in self._supplies]), 0
        )
        sure = np.logical_and.reduce([supply.rooms.sure for supply in self._supplies])
        if not any(isinstance(block, OneProviderBlock) for block in blocks):
            sure = sure & self._any_traits()
        self._hard = self._roots & ~sure & (self.high > 0)
        #: by slot of a root: how many fit if the tree is alone, at least
        self.low: Numbers = np.where(self._hard, 0, self.high)
        self._hard_trees: list[tuple[_HardTrees, Filling]] = []
        if self._hard.any():
            self._fill_each()

    @property
    def shares(self) -> bool:
        """Say whether trees share providers that serve the request."""
        return any(supply.pools is not None for supply in self._supplies)

    def total(self, roots: Mask, alone: Total) -> Total:
        """Return how many fit into some trees together.

        :param alone: how many would fit into each of them if it shared nothing with others
        """
        pooled = [supply for supply in self._supplies if supply.pools is not None]
        mine = roots & self._roots
        others = alone.low - int(self.low[mine].sum())
        high = int(self.high[mine].sum())
        wanted, limits = np.where(mine, self.high, 0), alone.limits
        for supply in pooled:
            got, short, _ = self._served(supply, wanted)
            high = min(high, int(got.sum()))
            for class_id, _ in supply.parts[0].demand[:1]:
                limits = np.where(short, class_id, limits)
        low, left = self._flowing(pooled, np.where(self._hard, 0, wanted))
        if low < high:
            low += self._filled_together(mine, left)
        return Total(others + low, others + high, limits)

    def _served(self, supply: Supply, wanted: Numbers) -> tuple[Numbers, Mask, Numbers]:
        """Return by slot of a root what of `wanted` is served; see `Pools.shared_out`."""
        assert supply.pools is not None
        own = np.minimum(wanted, supply.rooms.most)
        got, short, left = supply.pools.shared_out(wanted - own, self._budget)
        return own + got, short, left

    def _flowing(
        self, pooled: list[Supply], wanted: Numbers
    ) -> tuple[int, dict[tuple[int, int], int]]:
        """Return how many trees that are no bin packing surely get, and what they leave.

        What they leave is by class and slot of shared providers.
        """
        for supply in pooled:
            wanted, _, _ = self._served(supply, wanted)
        left: dict[tuple[int, int], int] = {}
        for supply in pooled:
            assert supply.pools is not None
            _, _, times = self._served(supply, wanted)
            slots = supply.pools.slots
            used = supply.pools.times - times
            for class_id, amount in supply.parts[0].demand:
                rest = self._free.of(class_id, slots) - used * amount
                for slot, some in zip(slots.tolist(), rest.tolist(), strict=True):
                    key = class_id, slot
                    left[key] = min(some, left.get(key, some))
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
            # the supplies of single parts don't know that parts compete
            rooms = block.rooms(self._free, keys)
            most = np.where(reached, MOST, rooms.most)
            yield Supply(block.parts, Rooms(most, rooms.sure & ~reached))

    def _pools(self, part: RequestPart) -> Pools | None:
        sharing = self._snapshot.sharing
        if not self._trees.lenders or not part.shared[sharing].any():
            return None
        return pools_of(self._snapshot, part, self._free)

    def _any_traits(self) -> Mask:
        """Return the trees where any choice has the traits that the unsuffixed parts need."""
        root = self._snapshot.forest.root
        found = np.ones(len(root), np.bool_)
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
            found &= surely
        return found

    def _note(self, limits: Limits) -> None:
        """Note for each class how much of it the trees have."""
        root, size = self._snapshot.forest.root, self._snapshot.size
        rooms = [supply.alone for supply in self._supplies]
        least = np.minimum.reduce(rooms)
        for supply, room in zip(self._supplies, rooms, strict=True):
            # what has room for more is no limit
            roots = np.flatnonzero(self._roots & (room == least))
            options = np.flatnonzero(own_of(supply.parts)) if len(roots) else roots
            for class_id, total in demand_of(supply.parts) if len(roots) else ():
                amounts = np.bincount(root[options], self._free.of(class_id, options), size)
                times = room[roots]
                shares = amounts[roots] / total if supply.pools is None else times.astype(float)
                limits.note(class_id, roots, times, shares)

    def _fill_each(self) -> None:
        """Fill each hard tree by itself; the trees behind the end of the budget stay empty."""
        classes = tuple(key for key, _ in demand_of(self._trees.parts))
        hard = np.flatnonzero(self._hard).astype(np.int32)
        try:
            for family in self._trees.families(np.zeros(0, np.int32), hard):
                assert isinstance(family.solutions, TreeSolutions)
                problem = family.solutions.problem
                filling = Filling(problem, classes, self._budget, self._refining)
                trees = _HardTrees.of(family, self._snapshot, self._free, classes)
                if self.shares:
                    self._hard_trees.append((trees, filling))
                self._fill_alike(trees, filling)
        except (OutOfTime, OutOfMemory):
            return

    def _fill_alike(self, trees: "_HardTrees", filling: Filling) -> None:
        """Fill trees with one problem; those that have the same are filled once."""
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

    def _filled_together(self, roots: Mask, left: dict[tuple[int, int], int]) -> int:
        """Fill hard trees one after the other, with what others left of shared providers."""
        count = 0
        try:
            for trees, filling in self._hard_trees:
                for number, root in enumerate(trees.roots):
                    if roots[root]:
                        count += trees.take(number, filling, int(self.high[root]), left)
        except (OutOfTime, OutOfMemory):
            pass
        return count


@dataclasses.dataclass(frozen=True, eq=False)
class _HardTrees:
    """Trees with one problem: what their providers have.

    :param slots: trees × locals: the providers
    :param amounts: trees × locals × classes: what is free
    :param units: likewise: the max_unit
    """

    roots: Sequence[int]
    classes: tuple[int, ...]
    slots: Numbers
    amounts: Numbers
    units: Numbers

    @classmethod
    def of(
        cls, family: ProblemFamily, snapshot: Snapshot, free: FreeAmounts, classes: tuple[int, ...]
    ) -> "_HardTrees":
        """Gather it for a family."""
        solutions = family.solutions
        lent = np.array(solutions.lent, np.int32)
        own = family.members[:, list(solutions.places)]
        slots = np.concatenate([own, np.broadcast_to(lent, (len(family), len(lent)))], axis=1)
        amounts = np.stack([free.of(class_id, slots) for class_id in classes], axis=2)
        units = np.stack([_units(snapshot, class_id, slots) for class_id in classes], axis=2)
        return cls(family.roots.tolist(), classes, slots, amounts, units)

    def alike(self) -> Iterator[npt.NDArray[np.intp]]:
        """Yield sets of trees whose providers have the same."""
        count = len(self.roots)
        rows = np.concatenate([self.amounts.reshape(count, -1), self.units.reshape(count, -1)], 1)
        keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
        _, which = np.unique(keys.ravel(), return_inverse=True)
        order = np.argsort(which, kind="stable")
        yield from np.split(order, np.flatnonzero(np.diff(which[order])) + 1)

    def state(self, number: int) -> State:
        """Return what the providers of a tree have free."""
        return tuple(map(tuple, self.amounts[number].tolist()))

    def units_of(self, number: int) -> State:
        """Return the max_unit of a tree's providers."""
        return tuple(map(tuple, self.units[number].tolist()))

    def take(
        self, number: int, filling: Filling, most: int, left: dict[tuple[int, int], int]
    ) -> int:
        """Fill a tree, and take from `left` what it takes of shared providers."""
        slots = self.slots[number].tolist()
        state = tuple(
            tuple(left.get((key, slot), some) for key, some in zip(self.classes, have, strict=True))
            for slot, have in zip(slots, self.state(number), strict=True)
        )
        found = filling.fill(state, self.units_of(number), most)
        for slot, have in zip(slots, found.left, strict=True):
            for key, some in zip(self.classes, have, strict=True):
                if (key, slot) in left:
                    left[key, slot] = some
        return found.count


def _units(snapshot: Snapshot, class_id: int, slots: Slots) -> Numbers:
    column = snapshot.column(class_id)
    if not len(column.slots):
        return np.zeros(slots.shape, np.int64)
    there, at = column.find(slots)
    return np.where(there, column.max_unit[at], 0)
