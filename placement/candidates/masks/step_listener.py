"""Who hears what each step of a search leaves (architecture.rst D13)."""

from placement.candidates.cloud.columns import Mask
from placement.candidates.masks.mask_steps import MaskStep, Remaining
from placement.candidates.request import Group


class StepListener:
    """Hears what each step of a search leaves. This one ignores it: the search at full speed.

    The listeners of `extensions/explain` and `extensions/capacity` override what they need.
    """

    #: whether to hear of the groups behind one that no provider can serve as well
    complete = False

    def begin(self, roots: Mask) -> None:
        """Note the trees there are before the first step."""

    def root_step(self, name: str, passing: Mask) -> None:
        """Note a condition of the whole request, and the roots that meet it."""

    def unmatched(self, group: Group) -> None:
        """Note a group whose aggregates or tree nobody can be in."""

    def step(self, suffix: str, step: MaskStep, before: Remaining, after: Remaining) -> None:
        """Note a step that each provider of a group has to pass, and what it left."""

    def part(self, suffix: str, step: MaskStep, before: Remaining, after: Remaining) -> None:
        """Note a class of the unsuffixed group, which may come from a provider of its own."""

    def traits_of_tree(self, suffix: str, step: MaskStep, own: Mask, shared: Mask) -> None:
        """Note traits that one of the unsuffixed group's providers has to have."""

    def alike(self, suffix: str, first: str) -> None:
        """Note a group with the conditions of another before it."""
