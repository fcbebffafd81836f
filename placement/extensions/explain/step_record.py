"""The account that a search gives of its steps: for which reason each tree drops out.

`Notes` listens to the search. The search names its steps; `conditions_of` takes each of them apart,
and a tree's reason is the first condition after which no provider is left for the tree.
"""

import collections
import dataclasses
from collections.abc import Sequence

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.sharing_providers import reached
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.masks.mask_steps import RESOURCES, MaskStep, Remaining
from placement.candidates.masks.step_listener import StepListener
from placement.candidates.request import CandidateRequest, Group
from placement.extensions.explain.conditions import Condition, Reason, conditions_of, listed


@dataclasses.dataclass(frozen=True)
class SearchStep:
    """What one step of the search left.

    :param group: suffix of the group; empty for the unsuffixed group and for the whole request
    :param name: what the step is about, where it is about one thing
    :param asked: the amount; None: no amount is asked
    :param providers: how many providers could serve the group before the step, and after it
    :param trees: how many trees could serve everything up to the step, before it and after it
    """

    group: str
    step: str
    name: str
    asked: int | None
    providers: tuple[int, int]
    trees: tuple[int, int]


@dataclasses.dataclass(frozen=True, eq=False)
class Dropped:
    """The trees that one condition was the first to leave out.

    :param roots: their roots
    """

    reason: Reason
    group: str
    name: str
    asked: int | None
    roots: Mask


@dataclasses.dataclass(eq=False)
class GroupNotes:
    """All conditions of one group, and of other groups that ask for the same.

    :param group: the first one
    :param common: those that each provider which serves the group has to meet
    :param parts: for each class that may come from another provider than the rest, those of it
    :param of_tree: those that any one of the providers which serve the group has to meet
    """

    group: Group
    common: list[Condition] = dataclasses.field(default_factory=list)
    parts: list[list[Condition]] = dataclasses.field(default_factory=list)
    of_tree: list[Condition] = dataclasses.field(default_factory=list)


class Notes(StepListener):
    """Keeps the steps, the trees that each condition left out, and every condition.

    Its methods raise OutOfMemory if that is more than the budget allows.

    :ivar total: how many trees there are
    :ivar left: the roots of the trees that passed everything so far
    """

    complete = True

    def __init__(self, snapshot: Snapshot, request: CandidateRequest, budget: Budget) -> None:
        self._snapshot, self._budget = snapshot, budget
        self._groups = {group.suffix: group for group in request.groups}
        self.steps: list[SearchStep] = []
        self._steps_of: dict[str, list[SearchStep]] = collections.defaultdict(list)
        self.dropped: list[Dropped] = []
        self.of_root: list[Condition] = []
        self.groups: dict[str, GroupNotes] = {}
        self.left = snapshot.forest.is_root
        self.total = 0

    def begin(self, roots: Mask) -> None:
        """Note how many trees there are."""
        self.left, self.total = roots, int(roots.sum())

    def root_step(self, name: str, passing: Mask) -> None:
        """Note a condition on the root."""
        condition = Condition(Reason.ROOT_REQUIRED, name, passing, passing)
        self.of_root.append(condition)
        before = int(self.left.sum())
        self._drop("", condition, self.left & passing)
        after = int(self.left.sum())
        self.steps.append(
            SearchStep("", "root_required", name, None, (before, after), (before, after))
        )

    def unmatched(self, group: Group) -> None:
        """Note that no provider can be in the group's aggregates or tree."""
        nobody = np.zeros(self._snapshot.size, np.bool_)
        reason, name, step = self._unknown(group)
        condition = Condition(reason, name, nobody, nobody)
        self.groups[group.suffix] = GroupNotes(group, [condition])
        trees, providers = int(self.left.sum()), int(self._snapshot.forest.alive.sum())
        self._drop(group.suffix, condition, nobody)
        self._add(SearchStep(group.suffix, step, name, None, (providers, 0), (trees, 0)))

    def step(self, suffix: str, step: MaskStep, before: Remaining, after: Remaining) -> None:
        """Note a step that each provider of the group has to pass."""
        notes = self._of(suffix)
        found = self._conditions(notes.group, step, before)
        notes.common += found
        self._narrow(suffix, step, found, before, after)

    def part(self, suffix: str, step: MaskStep, before: Remaining, after: Remaining) -> None:
        """Note a class that may come from a provider of its own."""
        notes = self._of(suffix)
        found = self._conditions(notes.group, step, before)
        notes.parts.append(found)
        self._narrow(suffix, step, found, before, after)

    def traits_of_tree(self, suffix: str, step: MaskStep, own: Mask, shared: Mask) -> None:
        """Note traits that one of the group's providers has to have."""
        notes = self._of(suffix)
        alive = self._snapshot.forest.alive
        before, after = Remaining(alive, alive, self.left), Remaining(own, shared, self.left)
        found = self._conditions(notes.group, step, before)
        notes.of_tree += found
        self._narrow(suffix, step, found, before, after)

    def alike(self, suffix: str, first: str) -> None:
        """Note a group with the conditions of another before it."""
        self.groups[suffix] = self.groups[first]
        trees = int(self.left.sum())
        for step in self._steps_of[first]:
            self.steps.append(dataclasses.replace(step, group=suffix, trees=(trees, trees)))

    def drop(self, suffix: str, reason: Reason, name: str, roots: Mask) -> None:
        """Note trees that a condition of all groups together leaves out."""
        if roots.any():
            self.dropped.append(Dropped(reason, suffix, name, None, roots))
            self.left = self.left & ~roots

    def _conditions(self, group: Group, step: MaskStep, before: Remaining) -> list[Condition]:
        found = list(conditions_of(self._snapshot, group, step, before))
        self._budget.keep(sum(condition.size for condition in found))
        return found

    def _of(self, suffix: str) -> GroupNotes:
        if suffix not in self.groups:
            self.groups[suffix] = GroupNotes(self._groups[suffix])
        return self.groups[suffix]

    def _narrow(
        self,
        suffix: str,
        step: MaskStep,
        conditions: Sequence[Condition],
        before: Remaining,
        after: Remaining,
    ) -> None:
        """Drop the trees that each condition leaves without a provider for the group."""
        trees = int(self.left.sum())
        own, shared = before.own, before.shared
        for number, condition in enumerate(conditions):
            if number == len(conditions) - 1:
                own, shared = after.own, after.shared
            else:
                own, shared = own & condition.own, shared & condition.shared
            left = reached(self._snapshot, own, shared) & self.left
            if condition.roots is not None:
                left = left & condition.roots
            self._drop(suffix, condition, left)
        names = list(dict.fromkeys(condition.name for condition in conditions))
        asked = conditions[-1].asked if step.name == RESOURCES else None
        providers = (int(before.providers.sum()), int(after.providers.sum()))
        self._add(
            SearchStep(
                suffix,
                step.name.replace(" ", "_"),
                ",".join(names),
                asked,
                providers,
                (trees, int(self.left.sum())),
            )
        )

    def _add(self, step: SearchStep) -> None:
        self.steps.append(step)
        self._steps_of[step.group].append(step)

    def _drop(self, suffix: str, condition: Condition, left: Mask) -> None:
        gone = self.left & ~left
        if gone.any():
            self.dropped.append(
                Dropped(condition.reason, suffix, condition.name, condition.asked, gone)
            )
            self.left = self.left & left

    def _unknown(self, group: Group) -> tuple[Reason, str, str]:
        """Return why no provider can be in a group: the reason, the name, the step."""
        snapshot = self._snapshot
        for uuids in group.member_of:
            if not snapshot.is_member(snapshot.aggregates(uuids)).any():
                return Reason.UNKNOWN_NAME, listed(uuids), "member_of"
        if group.in_tree is not None and snapshot.slot(group.in_tree) is None:
            members = np.ones(snapshot.size, np.bool_)
            for uuids in group.member_of:
                members &= snapshot.is_member(snapshot.aggregates(uuids))
            if members.any():
                return Reason.UNKNOWN_NAME, group.in_tree, "in_tree"
        return Reason.AGGREGATE, listed(group.member_of[-1]), "member_of"
