"""Candidates that are alike."""

import dataclasses

from placement.candidates.board import Solution
from placement.candidates.trees import Family


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Candidates that differ in their tree alone: one solution of trees with the same problem."""

    family: Family
    number: int

    def __len__(self) -> int:
        return len(self.family)

    @property
    def solution(self) -> Solution:
        """The local that serves each variable."""
        return self.family.solved.known(self.number)

    def chosen(self, which: slice | list[int]) -> "Batch":
        """Some of them."""
        return Batch(self.family.chosen(which), self.number)
