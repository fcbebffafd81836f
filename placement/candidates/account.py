"""Accounting for what each step of a search left over (architecture.rst D13)."""

import dataclasses

from placement.candidates.columns import Mask


@dataclasses.dataclass(frozen=True)
class Step:
    """What was left after one step.

    :param name: the condition, in the words of the query where it has some
    :param suffix: the group of the condition; None: the whole request
    :param providers: how many providers can still serve the group
    :param roots: how many trees can still serve all groups up to this step
    """

    name: str
    suffix: str | None
    providers: int
    roots: int


class Account:
    """Keeps no account: the search at full speed."""

    def begin(self, providers: Mask, roots: Mask) -> None:
        """Note what there is before the first step."""

    def step(self, name: str, suffix: str | None, providers: Mask, roots: Mask) -> None:
        """Note what a step left."""


class Notes(Account):
    """Keeps every step."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def begin(self, providers: Mask, roots: Mask) -> None:
        """Note how many providers and trees there are."""
        self.step("all", None, providers, roots)

    def step(self, name: str, suffix: str | None, providers: Mask, roots: Mask) -> None:
        """Count what a step left."""
        self.steps.append(Step(name, suffix, int(providers.sum()), int(roots.sum())))
