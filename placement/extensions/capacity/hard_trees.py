"""Trees in which parts of a request compete, and what their providers have, as arrays."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.free_amounts import FreeAmounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.trees.tree_solutions import ProblemFamily
from placement.extensions.capacity.filling import Filling, State


@dataclasses.dataclass(frozen=True, eq=False)
class HardTrees:
    """Trees that have one problem in common, and what their providers have.

    Of 3 trees with 2 providers each, and 2 classes, `slots` is 3 × 2, `amounts` 3 × 2 × 2.

    :param roots: the slot of each tree's root
    :param slots: by tree and local: the slots of the providers, own and sharing ones
    :param amounts: by tree, local and class: what is free
    :param units: by tree, local and class: the max_unit
    """

    roots: Sequence[int]
    classes: tuple[int, ...]
    slots: Numbers
    amounts: Numbers
    units: Numbers

    @classmethod
    def of(
        cls, family: ProblemFamily, snapshot: Snapshot, free: FreeAmounts, classes: tuple[int, ...]
    ) -> "HardTrees":
        """Read what the providers of a family's trees have."""
        solutions = family.solutions
        lent = np.array(solutions.lent, np.int32)
        own = family.members[:, list(solutions.places)]
        slots = np.concatenate([own, np.broadcast_to(lent, (len(family), len(lent)))], axis=1)
        amounts = np.stack([free.of(class_id, slots) for class_id in classes], axis=2)
        units = np.stack([_units(snapshot, class_id, slots) for class_id in classes], axis=2)
        return cls(family.roots.tolist(), classes, slots, amounts, units)

    def alike(self) -> Iterator[npt.NDArray[np.intp]]:
        """Yield the numbers of trees whose providers have the same, one array for each such set."""
        # the bytes of a tree's amounts and units are its key, so that `unique` compares whole rows
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
        """Fill a tree; return how many requests fit.

        :param left: what is left of sharing providers, by class and slot; what the tree takes of it
            is taken out
        """
        slots = self.slots[number].tolist()
        state = tuple(
            tuple(
                left.get((class_id, slot), free)
                for class_id, free in zip(self.classes, amounts, strict=True)
            )
            for slot, amounts in zip(slots, self.state(number), strict=True)
        )
        filled = filling.fill(state, self.units_of(number), most)
        for slot, amounts in zip(slots, filled.left, strict=True):
            for class_id, free in zip(self.classes, amounts, strict=True):
                if (class_id, slot) in left:
                    left[class_id, slot] = free
        return filled.count


def _units(snapshot: Snapshot, class_id: int, slots: Slots) -> Numbers:
    column = snapshot.column(class_id)
    if not len(column.slots):
        return np.zeros(slots.shape, np.int64)
    has_class, positions = column.find(slots)
    return np.where(has_class, column.max_unit[positions], 0)
