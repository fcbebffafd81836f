"""The cloud as if the largest consumers of each provider were gone: for bounds of moves.

Whoever moves away gives back, of each inventory, at most what the largest consumers hold of it. So
a tree that has no candidate even as if the two largest holders of each of its inventories were gone
needs three moves. The search itself says which trees have candidates then.

The amounts are newer than the cloud. Where somebody wrote meanwhile, it isn't known who may leave:
there, nothing counts as used.
"""

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Column, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.plans.occupants import Occupants
from placement.extensions.plans.terms import Movable
from placement.extensions.plans.written import written
from placement.storage import movable_amounts
from placement.storage.database.engine import Connection, Database

#: as if all consumers that may move were gone
ALL = -1
#: how many such clouds are kept at a time
_KEPT = 32
_Array = npt.NDArray[np.int64]


class Relaxed:
    """Clouds in which consumers that may move are gone, without a new place.

    :param budget: what reading their amounts may cost
    """

    def __init__(
        self,
        database: Database,
        cloud: Snapshot,
        movable: Movable,
        holders: Occupants,
        budget: Budget,
    ) -> None:
        self._database, self._cloud, self._movable = database, cloud, movable
        self._holders, self._budget = holders, budget
        #: by class: slots and amounts of single consumers, by slot, the largest first
        self._amounts: dict[int, tuple[_Array, _Array]] = {}
        #: by class: the slots of providers where somebody wrote meanwhile
        self._written: dict[int, Slots] = {}
        self._clouds: dict[object, Snapshot] = {}

    def cloud(
        self, gone: int, classes: Iterable[int], largest: Mapping[int, int] | None = None
    ) -> Snapshot:
        """Return the cloud as if so many consumers of each inventory were gone.

        :param gone: how many, or ALL
        :param classes: of these classes at least
        :param largest: by class, the most that those hold who may go; None: no bound
        """
        bounds = () if largest is None else tuple(sorted(largest.items()))
        key = gone, frozenset(classes), bounds
        if key not in self._clouds:
            if len(self._clouds) >= _KEPT:
                self._clouds.clear()
            columns = dict(self._cloud.columns)
            for class_id in key[1]:
                if class_id in columns:
                    most = None if largest is None else largest[class_id]
                    columns[class_id] = self._column(columns[class_id], class_id, gone, most)
            self._clouds[key] = dataclasses.replace(self._cloud, columns=columns)
        return self._clouds[key]

    def _column(self, column: Column, class_id: int, gone: int, most: int | None) -> Column:
        slots, amounts = self._of(class_id)
        if most is not None:
            slots, amounts = slots[amounts <= most], amounts[amounts <= most]
        if gone != ALL:
            # how many of the same provider come before each
            places = np.arange(len(slots)) - np.searchsorted(slots, slots)
            slots, amounts = slots[places < gone], amounts[places < gone]
        sums = np.bincount(slots, amounts, self._cloud.size).astype(np.int64)
        used = np.maximum(column.used - sums[column.slots], 0)
        used[np.isin(column.slots, self._written[class_id])] = 0
        return Column.of_kinds(column.slots, column.kinds, column.stocks, used)

    def _of(self, class_id: int) -> tuple[_Array, _Array]:
        if class_id not in self._amounts:
            slots, amounts = self._read(class_id)
            if self._movable.only is not None:
                slots, amounts = self._of_named(class_id)
            order = np.lexsort((-amounts, slots))
            self._amounts[class_id] = slots[order], amounts[order]
        return self._amounts[class_id]

    def _of_named(self, class_id: int) -> tuple[_Array, _Array]:
        held = [
            (key[0], amount)
            for one in self._holders.named.values()
            if one.movable
            for key, amount in one.held.items()
            if key[1] == class_id
        ]
        found = np.array(held, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def _read(self, class_id: int) -> tuple[_Array, _Array]:
        parts: list[_Array] = [np.zeros((0, 3), np.int64)]

        def read(connection: Connection) -> None:
            del parts[1:]
            types, ids = self._movable.types, self._holders.stored.register.known_ids.tolist()
            for rows in movable_amounts.amounts(connection, class_id, types, ids):
                parts.append(np.array(rows, np.int64).reshape(-1, 3))
                self._budget.look()

        self._database.read(read)
        found = np.concatenate(parts)
        stored = self._holders.stored
        slots = stored.register.slot_of_id.slots(found[:, 0]).astype(np.int64)
        slots, amounts, able = slots[slots >= 0], found[slots >= 0, 1], found[slots >= 0, 2] == 1
        everybody = np.arange(stored.size, dtype=np.int32)
        self._written[class_id] = written(stored, everybody, class_id, slots, amounts)
        return slots[able], amounts[able]


def changed(cloud: Snapshot, changes: Mapping[tuple[int, int], int]) -> Snapshot:
    """Return a cloud whose usage differs by some amounts, by slot and class; it is at least 0."""
    used: dict[int, dict[int, int]] = {}
    for (slot, class_id), amount in changes.items():
        if amount:
            before = cloud.used(class_id, slot)
            used.setdefault(class_id, {})[slot] = max(before + amount, 0)
    return cloud.using(used)
