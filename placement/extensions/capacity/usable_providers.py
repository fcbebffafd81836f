"""Which providers a request could use if they had room for it: an account of its search."""

import numpy as np

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.masks import mask_steps
from placement.candidates.masks.mask_steps import MaskStep, Remaining
from placement.candidates.masks.step_listener import Account
from placement.candidates.request import Group


class Suitable(Account):
    """Notes by group which providers meet all conditions but amounts."""

    complete = True

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._roots = snapshot.forest.is_root
        self._own: dict[str, Mask] = {}
        self._shared: dict[str, Mask] = {}

    def root_step(self, name: str, passing: Mask) -> None:
        """Note a condition of the whole request, and the roots that meet it."""
        self._roots = self._roots & passing

    def unmatched(self, group: Group) -> None:
        """Note a group whose aggregates or tree nobody can be in."""
        nobody = np.zeros(self._snapshot.size, np.bool_)
        self._own[group.suffix] = self._shared[group.suffix] = nobody

    def step(self, suffix: str, step: MaskStep, before: Remaining, after: Remaining) -> None:
        """Note a condition that each provider of a group has to meet."""
        if step.name != mask_steps.RESOURCES:
            alive = self._snapshot.forest.alive
            self._own[suffix] = self._own.get(suffix, alive) & step.own
            self._shared[suffix] = self._shared.get(suffix, alive) & step.shared
            if step.roots is not None:
                self._own[suffix] = self._own[suffix] & step.roots[self._snapshot.forest.root]

    def alike(self, suffix: str, first: str) -> None:
        """Note a group with the conditions of another before it."""
        for masks in (self._own, self._shared):
            if first in masks:
                masks[suffix] = masks[first]

    def of_group(self, suffix: str) -> Mask:
        """Return the providers that could serve a group."""
        forest, sharing = self._snapshot.forest, self._snapshot.sharing
        own = self._own.get(suffix, forest.alive) & self._roots[forest.root]
        if len(sharing):
            lent = np.zeros(len(own), np.bool_)
            lent[sharing] = self._shared.get(suffix, forest.alive)[sharing]
            own = own | lent
        return own
