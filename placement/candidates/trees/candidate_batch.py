"""Candidates that are alike."""

import dataclasses

from placement.candidates.tree_problem import Solution
from placement.candidates.trees.tree_problems import ProblemFamily


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class CandidateBatch:
    """Candidates that differ in their tree alone: one solution of trees with the same problem.

    :param solution: the number of the local that serves each variable
    """

    family: ProblemFamily
    solution: Solution

    def __len__(self) -> int:
        return len(self.family)

    def chosen(self, which: slice | list[int]) -> "CandidateBatch":
        """Return some of the candidates."""
        return CandidateBatch(self.family.chosen(which), self.solution)
