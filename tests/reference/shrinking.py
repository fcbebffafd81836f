"""Delta debugging: shrink a list while a predicate, "is interesting", still holds."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shrunk(items: Sequence[T], interesting: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return an interesting part of the items, in their order, from which no item can be removed.

    The whole list must be interesting. First the last item is tried alone; then ever smaller runs
    of items are left out.
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
