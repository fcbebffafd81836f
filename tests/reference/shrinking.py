"""Delta debugging: what can be left out of a list without losing what is of interest."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shrunk(items: Sequence[T], interesting: Callable[[Sequence[T]], bool]) -> list[T]:
    """A part of the items, in their order, that is interesting and of which nothing can go.

    The items themselves must be interesting. The last one is tried alone first, then ever smaller
    runs of items are left out; a result is minimal as to single items.
    """
    kept = list(items)
    if len(kept) > 1 and interesting(kept[-1:]):
        return kept[-1:]
    size = len(kept) // 2
    while size:
        removed = False
        start = len(kept) - size
        while start > -size:
            candidate = kept[: max(start, 0)] + kept[start + size :]
            if candidate and len(candidate) < len(kept) and interesting(candidate):
                kept, removed = candidate, True
            start -= size
        if not (removed and size == 1):
            size //= 2
    return kept
