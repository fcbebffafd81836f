"""The account that a search gives of its steps: how many providers and trees each of them leaves.

`Steps` listens to the search. Why a tree has no candidate is found out afterwards (`conflicts.py`).
"""

import collections
import dataclasses

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.masks import mask_steps
from placement.candidates.masks.mask_steps import MaskStep, Remaining, StepListener
from placement.candidates.request import CandidateRequest, Group
from placement.extensions.explain.conditions import listed


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


class Steps(StepListener):
    """Keeps the steps.

    :ivar total: how many trees there are
    :ivar left: the roots of the trees that passed everything so far
    """

    complete = True

    def __init__(self, snapshot: Snapshot, request: CandidateRequest) -> None:
        self._snapshot = snapshot
        self._groups = {group.suffix: group for group in request.groups}
        self.steps: list[SearchStep] = []
        self._steps_of: dict[str, list[SearchStep]] = collections.defaultdict(list)
        self.left = snapshot.forest.is_root
        self.total = 0

    def begin(self, roots: Mask) -> None:
        """Note how many trees there are."""
        self.left, self.total = roots, int(roots.sum())

    def root_step(self, name: str, passing: Mask) -> None:
        """Note a condition on the root."""
        self.of_all("root_required", name, self.left & passing)

    def of_all(self, step: str, name: str, left: Mask) -> None:
        """Note a condition of all groups together, and the roots of the trees that pass it."""
        change = (int(self.left.sum()), int(left.sum()))
        self.left = left
        self.steps.append(SearchStep("", step, name, None, change, change))

    def unmatched(self, group: Group, step: str) -> None:
        """Note that no provider can be in the group's aggregates or tree."""
        trees, providers = int(self.left.sum()), int(self._snapshot.forest.alive.sum())
        self.left = self.left & False
        self._add(group, step, None, (providers, 0), (trees, 0))

    def step(self, suffix: str, step: MaskStep, before: Remaining, after: Remaining) -> None:
        """Note a step that each provider of the group has to pass."""
        left = self.left & self._snapshot.reached(after.own, after.shared)
        trees = int(self.left.sum())
        self.left = left if step.roots is None else left & step.roots
        providers = (int(before.providers.sum()), int(after.providers.sum()))
        group = self._groups[suffix]
        self._add(group, step.name, step.number, providers, (trees, int(self.left.sum())))

    def part(self, suffix: str, step: MaskStep, before: Remaining, after: Remaining) -> None:
        """Note a class that may come from a provider of its own."""
        self.step(suffix, step, before, after)

    def traits_of_tree(self, suffix: str, step: MaskStep, own: Mask, shared: Mask) -> None:
        """Note traits that one of the group's providers has to have."""
        alive = self._snapshot.forest.alive
        before, after = Remaining(alive, alive, self.left), Remaining(own, shared, self.left)
        self.step(suffix, step, before, after)

    def alike(self, suffix: str, first: str) -> None:
        """Note a group with the conditions of another before it."""
        trees = int(self.left.sum())
        for step in self._steps_of[first]:
            self.steps.append(dataclasses.replace(step, group=suffix, trees=(trees, trees)))

    def _add(
        self,
        group: Group,
        step: str,
        number: int | None,
        providers: tuple[int, int],
        trees: tuple[int, int],
    ) -> None:
        name, asked = _name(group, step, number)
        made = SearchStep(group.suffix, step.replace(" ", "_"), name, asked, providers, trees)
        self.steps.append(made)
        self._steps_of[group.suffix].append(made)


def _name(group: Group, step: str, number: int | None) -> tuple[str, int | None]:
    """Return what a step of the group is about, and the amount."""
    if step == mask_steps.RESOURCES:
        assert number is not None
        return list(group.resources.items())[number]
    if step == mask_steps.REQUIRED:
        sets = group.required if number is None else (group.required[number],)
        return ",".join(map(listed, sets)), None
    return {
        mask_steps.FORBIDDEN_TRAITS: ",".join(sorted(group.forbidden)),
        mask_steps.MEMBER_OF: ",".join(dict.fromkeys(map(listed, group.member_of))),
        mask_steps.FORBIDDEN_AGGREGATES: ",".join(sorted(group.not_member_of)),
        mask_steps.IN_TREE: group.in_tree or "",
    }.get(step, ""), None
