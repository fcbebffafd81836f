"""Bounds say no only where nothing can serve the rest."""

import pytest

from placement.candidates.tree_problem import options_of
from placement.candidates.trees.assignment import Assignment, plan
from placement.candidates.trees.backtracking import Lookahead
from tests.unit.placement.candidates.tree_problems import devices_of, packing


def is_hopeful(amounts, rooms, isolate=False):
    shape, locals_ = packing(amounts, isolate), devices_of(rooms)
    planned = plan(shape, locals_, options_of(shape, locals_), ())
    return Lookahead(planned).is_hopeful(0, Assignment(planned))


#: three small amounts and a large one are 65,536 units in all
SMALL, LARGE = 10_923, 32_767


@pytest.mark.parametrize(
    ("rooms", "hopeful"),
    [
        pytest.param([LARGE, 3 * SMALL], True, id="each has its place"),
        pytest.param([LARGE + 1, 3 * SMALL - 1], False, id="as many units, but in no such sums"),
    ],
)
def test_up_to_65_536_pieces_the_sums_that_amounts_make_are_told_apart(rooms, hopeful):
    assert 3 * SMALL + LARGE == 65_536
    assert is_hopeful([SMALL, SMALL, SMALL, LARGE], rooms) is hopeful


@pytest.mark.parametrize("piece", [1, 10])
def test_beyond_them_units_are_counted_by_the_piece(piece):
    small, large = piece * 20_000, piece * 60_001
    amounts = [small, small, small, large]

    assert is_hopeful(amounts, [large, 3 * small])
    assert is_hopeful(amounts, [large + piece - 1, 3 * small + piece - 1])
    # a rest smaller than a piece serves nothing
    assert not is_hopeful(amounts, [large + piece - 1, 3 * small - 1])


def test_beyond_them_a_bound_may_hope_in_vain():
    assert is_hopeful([20_000, 20_000, 20_000, 60_001], [60_003, 59_999])


def test_groups_that_need_providers_of_their_own_are_counted_by_amount():
    small = [1] * 6

    assert is_hopeful([5, 5, 1], [5, 5, *small], isolate=True)
    assert is_hopeful([5, 5, 1], [10, 5, 1], isolate=True)
    # as many providers, and as many units
    assert not is_hopeful([5, 5, 1], [10, *small], isolate=True)
    assert not is_hopeful([5, 5, 1], [10, 10], isolate=True)


def test_a_provider_too_small_for_any_amount_gives_nothing():
    assert not is_hopeful([2, 3], [4, 1], isolate=True)
    assert is_hopeful([2, 3], [4, 2], isolate=True)
