"""Sets of small numbers as the bits of an integer."""

from collections.abc import Iterable, Iterator, Sequence


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def union(masks: Sequence[int], chosen: Iterable[int]) -> int:
    """Return the bits that are set in any of the chosen masks."""
    found = 0
    for index in chosen:
        found |= masks[index]
    return found
