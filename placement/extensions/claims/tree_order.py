"""In which order trees are tried: the first of them are found without sorting all.

A claim takes the first tree that has a candidate, and most trees have one.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]

#: how many come first by chance, if there are several times as many
_FEW = 64
_SEVERAL = 4


def by_key(keys: npt.NDArray[Any], chance: np.random.Generator | None) -> Iterator[Places]:
    """Yield the places of all keys in parts, from the smallest key to the largest.

    :param chance: orders equal keys; None: they stay in their order
    """
    if not len(keys):
        return
    least = keys == keys.min()
    yield _shuffled(np.flatnonzero(least), chance)
    rest = _shuffled(np.flatnonzero(~least), chance)
    yield rest[np.argsort(keys[rest], kind="stable")]


def by_chance(count: int, chance: np.random.Generator) -> Iterator[Places]:
    """Yield so many places in parts, in an order by chance."""
    rest: Places = np.arange(count)
    if count > _SEVERAL * _FEW:
        few = chance.choice(count, _FEW, replace=False)
        yield few
        rest = np.delete(rest, few)
    yield chance.permutation(rest)


def _shuffled(places: Places, chance: np.random.Generator | None) -> Places:
    return places if chance is None else chance.permutation(places)
