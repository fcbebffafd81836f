"""Shrinking a script by delta debugging."""

from collections.abc import Sequence

import pytest

from tests.reference.shrinking import shrunk


@pytest.mark.parametrize(
    "needed", [{0}, {19}, {0, 19}, {3, 4}, {7, 11, 12}, {1, 5, 9, 13, 17}, set(range(20))]
)
def test_only_needed_items_remain_in_their_order(needed: set[int]) -> None:
    kept = shrunk(range(20), lambda items: needed <= set(items))

    assert kept == sorted(needed)


def test_items_that_can_only_be_removed_together_are_removed() -> None:
    # 5 cancels the effect of 2, so neither can be removed alone
    kept = shrunk(range(8), lambda items: 7 in items and (2 in items) == (5 in items))

    assert kept == [7]


def test_the_result_is_always_interesting() -> None:
    tried = []

    def interesting(items: Sequence[int]) -> bool:
        tried.append(list(items))
        return sum(items) >= 30

    kept = shrunk(range(10), interesting)

    assert sum(kept) >= 30
    assert all(sum(kept) - item < 30 for item in kept)
    assert all(items == sorted(items) for items in tried)
