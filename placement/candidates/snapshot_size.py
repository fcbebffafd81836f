"""About how much memory a snapshot takes."""

import sys

import numpy as np

from placement.candidates.snapshot import Snapshot


def size_of(snapshot: Snapshot) -> int:
    """Return about how many bytes a snapshot takes: its arrays, and texts of typical length."""
    arrays = [snapshot.generations, snapshot.register.uuid_table.rows]
    forest = snapshot.forest
    arrays += [forest.parent, forest.root, forest.alive, forest.order, forest.start]
    arrays += [forest.count, forest.place]
    for column in snapshot.columns.values():
        arrays += [value for value in vars(column).values() if isinstance(value, np.ndarray)]
    register = snapshot.register
    tables = (register.ids, register.uuids, register.slot_of_id, register.slot_of_uuid)
    total = sum(array.nbytes for array in arrays) + sum(map(sys.getsizeof, tables))
    # a text of 36 characters, two numbers, and three short tuples of numbers, by provider
    return total + snapshot.size * (85 + 2 * 32 + 3 * 80)
