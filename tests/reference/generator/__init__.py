"""Generates requests from the contents of the databases: most are valid and build on each other.

To add another endpoint, write a function from a :class:`~.draw.Draw` to a request (None if the
databases allow no such request) and give it a weight in :data:`ACTIONS`.
"""

import random
from collections.abc import Callable, Mapping

from tests.reference.generator import (
    allocations,
    candidates,
    inventories,
    names,
    providers,
    reading,
    reshapes,
)
from tests.reference.generator.draw import Draw
from tests.reference.generator.spoiling import spoiled
from tests.reference.picture import Picture
from tests.reference.script import Request

Action = Callable[[Draw], Request | None]

#: weights of the actions
ACTIONS: Mapping[Action, int] = {
    providers.create: 8,
    providers.rename: 3,
    providers.move: 6,
    providers.delete: 3,
    inventories.create: 8,
    inventories.replace_all: 7,
    inventories.update: 6,
    inventories.delete: 3,
    inventories.delete_all: 1,
    names.set_aggregates: 7,
    names.set_provider_traits: 7,
    names.delete_provider_traits: 1,
    names.put_trait: 3,
    names.delete_trait: 2,
    names.create_class: 3,
    names.rename_class: 1,
    names.put_class: 2,
    names.delete_class: 2,
    allocations.allocate: 16,
    allocations.change: 8,
    allocations.release: 3,
    allocations.empty: 3,
    allocations.allocate_several: 6,
    allocations.move: 5,
    reshapes.move_inventory: 6,
    reshapes.spread: 5,
    reshapes.rewrite: 5,
    candidates.search: 20,
    reading.one_provider: 10,
    reading.providers: 14,
    reading.one_consumer: 6,
    reading.usages: 5,
    reading.names: 6,
    reading.root: 1,
}
#: share of requests with a deliberate error
SPOILED = 0.2


class Generator:
    """Makes one request after the other, the same ones for the same random numbers and pictures."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._count = 0

    def next(self, picture: Picture) -> Request:
        """Return a request to a service with the contents of the picture."""
        self._count += 1
        draw = Draw(self._rng, picture, label=str(self._count))
        request = None
        while request is None:
            (action,) = self._rng.choices(list(ACTIONS), list(ACTIONS.values()))
            request = action(draw)
        return spoiled(draw, request) if draw.chance(SPOILED) else request
