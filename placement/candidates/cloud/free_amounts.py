"""What is free of the inventories of a snapshot."""

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.columns import Column, Numbers, OfferedStock
from placement.candidates.cloud.patched_array import Integers
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.tree_problem import Demand

#: the largest number that arithmetic with columns has room for
LARGEST = 2**62
#: larger amounts are counted as this, so that sums of them fit into 64 bits
MOST = 1 << 40


def free_amounts(column: Column) -> npt.NDArray[np.int64]:
    """Return what is free of each inventory; below 0 where more is used than there is."""
    capacity = np.clip(
        (column.total - column.reserved) * column.ratio, -float(LARGEST), float(LARGEST)
    )
    return capacity.astype(np.int64) - column.used


def free_amount(stock: OfferedStock, used: int) -> int:
    """Return what is free of one inventory, as `free_amounts` has it."""
    capacity = (stock.total - stock.reserved) * stock.ratio
    return int(min(max(capacity, -LARGEST), LARGEST)) - used


class FreeAmounts:
    """What is free in a snapshot, at least 0 and at most `MOST`; each class is computed once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[int, Numbers] = {}

    def by_slot(self, class_id: int) -> Numbers:
        """Return what is free of a class, by slot."""
        known = self._known.get(class_id)
        if known is None:
            column = self._snapshot.column(class_id)
            free = np.clip(free_amounts(column), 0, MOST)
            known = np.zeros(self._snapshot.size, np.int64)
            known[column.slots] = free
            self._known[class_id] = known
        return known

    def of(self, class_id: int, slots: Integers) -> Numbers:
        """Return what providers have free of a class."""
        return self.by_slot(class_id)[slots]

    def times(self, demand: Demand, slots: Integers) -> Numbers:
        """Return how often providers can give what is demanded; `MOST` if that is nothing."""
        found = np.full(len(slots), MOST, np.int64)
        for class_id, amount in demand:
            np.minimum(found, self.of(class_id, slots) // amount, out=found)
        return found

    def per_request(self, demand: Demand, slots: Integers) -> Numbers:
        """Return how often one request can get what is demanded from each provider."""
        found = np.full(len(slots), MOST, np.int64)
        for class_id, amount in demand:
            column = self._snapshot.column(class_id)
            there, at = column.find(slots)
            most = column.max_unit[at] if len(column.slots) else np.zeros(len(slots), np.int64)
            np.minimum(found, np.where(there, most // amount, 0), out=found)
        return found
