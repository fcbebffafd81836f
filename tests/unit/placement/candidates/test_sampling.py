"""Random choices where a tree has too many candidates to count (allocation-candidates.md 4)."""

import random

from placement.candidates.budget import TooManyToCount
from placement.candidates.sampling import Draw
from placement.candidates.trees.rejection_sampling import BlindDraws
from tests.endless import endless
from tests.unit.placement.candidates.tree_problems import devices, packing


class Uncounted:
    """A family of one tree with 10 x 10 x 10 candidates, and its solutions."""

    def __init__(self):
        self.solutions = self

    def __len__(self):
        return 1

    def count(self, allowance):
        raise TooManyToCount

    def draws(self):
        return BlindDraws(packing([1, 1, 1]), devices(10, 3), endless())

    def any_one(self, source):
        raise AssertionError("a search is less fair than a draw")


def test_all_are_drawn_blindly_as_long_as_draws_hit():
    draw = Draw([Uncounted()], 300, random.Random(1), endless(), 1)
    draw.run()

    assert len(draw) == 300
