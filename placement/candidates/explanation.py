"""Why a request has the candidates it has, or none (architecture.rst D13).

For programs that embed the search: candidate_search.rst shows an example. A claim for which nothing
fits says the `message`.
"""

import dataclasses

import numpy as np

from placement.candidates.account import Notes, Step
from placement.candidates.budget import Budget, OutOfMemory, OutOfTime, SearchEnded
from placement.candidates.request import CandidateRequest
from placement.candidates.search import prepare
from placement.candidates.snapshot import Snapshot


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What each step of a search left over.

    :param steps: in the order of the search; it ends early when a group has nothing left
    :param fruitful: uuids of the roots whose trees have candidates
    :param fruitless: uuids of the roots whose trees can serve every group by itself but not all
        together: the sums are too much, or isolation, same_subtree or traits of several providers
        fail
    :param undecided: uuids of the roots whose trees weren't searched to an end before the budget
        was used up
    :param ended: how it was used up, if there are any
    """

    steps: tuple[Step, ...]
    fruitful: tuple[str, ...]
    fruitless: tuple[str, ...]
    undecided: tuple[str, ...] = ()
    ended: SearchEnded | None = None

    @property
    def ended_at(self) -> Step | None:
        """Return the first step that left nothing, or None if there was none."""
        return next((step for step in self.steps if not step.providers or not step.roots), None)

    @property
    def message(self) -> str:
        """Say in one sentence why there are few candidates, or none."""
        total = self.steps[0].roots if self.steps else 0
        return f"{len(self.fruitful)} of {total} trees have candidates: {self._reason()}."

    def _reason(self) -> str:
        last = self.ended_at
        if last is not None:
            before = self.steps[max(self.steps.index(last) - 1, 0)]
            left = "tree" if last.providers else "provider"
            count = before.roots if last.providers else before.providers
            if last.suffix != before.suffix:
                return f"no {left} passes {last.name}{_of_group(last)}"
            return (
                f"no {left} passes {last.name}{_of_group(last)}, of {count} that are left before it"
            )
        if self.fruitless:
            return (
                f"{len(self.fruitless)} trees can serve each group by itself, but not all together"
            )
        return "no tree is left to search" if not self.fruitful else "the others can't serve it"


def explain(
    snapshot: Snapshot, request: CandidateRequest, budget: Budget | None = None
) -> Explanation:
    """Run a search, whatever its limit, and account for every step.

    One candidate of each tree is looked for.

    Raise BadRequest like the search, and SearchEnded if the budget is used up before there are
    trees to tell apart.
    """
    notes = Notes()
    budget = budget or Budget()
    prepared = prepare(snapshot, request, notes, budget=budget)
    if prepared is None:
        return Explanation(tuple(notes.steps), (), ())
    trees, simple, others = prepared
    uuids = snapshot.register.uuids
    fruitful: list[str] = []
    fruitless: list[str] = []
    left = np.zeros(snapshot.size, np.bool_)
    left[simple] = left[others] = True
    ended = None
    try:
        for family in trees.families(simple, others):
            found = family.solutions.at(0) is not None
            (fruitful if found else fruitless).extend(uuids[root] for root in family.roots.tolist())
            left[family.roots] = False
    except (OutOfTime, OutOfMemory) as early:
        ended = early
    undecided = tuple(uuids[root] for root in np.flatnonzero(left).tolist())
    return Explanation(tuple(notes.steps), tuple(fruitful), tuple(fruitless), undecided, ended)


def why_none(snapshot: Snapshot, request: CandidateRequest, budget: Budget | None = None) -> str:
    """Return the message of the explanation for a request that has no candidates."""
    try:
        return explain(snapshot, request, budget).message
    except SearchEnded:
        return "There are no candidates; to find out why takes too long."


def _of_group(step: Step) -> str:
    return f" for group {step.suffix}" if step.suffix else ""
