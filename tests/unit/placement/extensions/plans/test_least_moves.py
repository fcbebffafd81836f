"""How many fit at most after some moves (placement/extensions/plans/least_moves.py)."""

import itertools

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from placement.extensions.plans.least_moves import most_with


@given(st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=1, max_size=3))
def test_no_way_of_moving_has_room_for_more(gains):
    """Each list has how many more fit into a tree after one move more."""
    after = np.cumsum(np.array(gains), axis=1)
    by_tree = [after[:, moves] for moves in range(4)]
    for moves in range(4):
        best = max(
            sum(int(after[tree, some]) for tree, some in enumerate(spread))
            for spread in itertools.product(range(4), repeat=len(gains))
            if sum(spread) <= moves
        )
        assert most_with(moves, by_tree) >= best
        if moves < 2:
            assert most_with(moves, by_tree) == best
