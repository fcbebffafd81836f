"""Accounting for what each step of a search removed (architecture.rst D13)."""

import dataclasses

from placement.candidates.columns import Mask


@dataclasses.dataclass(frozen=True)
class Step:
    """What was left after one step.

    :param name: what was asked
    :param suffix: of which group; None: of the whole request
    :param providers: how many providers can still serve the group
    :param roots: how many trees can still serve all groups up to this step
    """

    name: str
    suffix: str | None
    providers: int
    roots: int


class Account:
    """Takes no notes: the search at full speed."""

    def begin(self, name: str, providers: Mask, roots: Mask) -> None:
        """Before the first step."""

    def step(self, name: str, suffix: str | None, providers: Mask, roots: Mask) -> None:
        """After a step that looked at providers."""


class Notes(Account):
    """Remembers every step."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def begin(self, name: str, providers: Mask, roots: Mask) -> None:
        self.steps.append(Step("all", None, int(providers.sum()), int(roots.sum())))

    def step(self, name: str, suffix: str | None, providers: Mask, roots: Mask) -> None:
        self.steps.append(Step(name, suffix, int(providers.sum()), int(roots.sum())))
