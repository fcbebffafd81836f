"""What providers have left while the parts of a share are being placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from compute.provider_tree.allocation_records import ProviderAmounts
from compute.provider_tree.stock import Stock, largest_spread
from compute.shares.giver import Giver

#: (provider uuid, class) → amount
Parts = Mapping[tuple[str, str], int]


class ShareLedger:
    """Counts what is taken of givers, and what the guest has kept of its allocations.

    :param held: what the guest has in placement. It may keep any of it, even where a provider has
        become too small
    :param taken: what other shares of the guest take already
    :param given: what it was told to take. It gets that only where there is room
    """

    def __init__(
        self,
        givers: Sequence[Giver],
        held: ProviderAmounts,
        taken: ProviderAmounts,
        given: ProviderAmounts | None = None,
    ) -> None:
        self.givers = {one.uuid: one for one in givers}
        self._stocks = {
            (one.uuid, name): Stock.of(record, one.used.get(name, 0))
            for one in givers
            for name, record in one.inventories.items()
        }
        self._held = self._known(held)
        self._given = self._known(given or {})
        self._mine = Counter[tuple[str, str]]()
        self.take({(uuid, name): n for uuid, part in taken.items() for name, n in part.items()})

    def take(self, parts: Parts) -> None:
        """Count parts as taken."""
        for key, amount in parts.items():
            self._mine[key] += amount
            if key in self._stocks:
                self._stocks[key].used += amount

    def give_back(self, parts: Parts) -> None:
        """Undo `take`."""
        self.take({key: -amount for key, amount in parts.items()})

    def used(self, uuid: str) -> bool:
        """Say whether anything is taken of the provider."""
        return any(n for (one, _), n in self._mine.items() if one == uuid)

    def kept(self, uuid: str, name: str) -> int:
        """Return what the guest holds of the class, and no part has taken yet."""
        return max(0, self._held.get((uuid, name), 0) - self._mine[uuid, name])

    def preferred(self, uuid: str, name: str) -> int:
        """Return what the guest holds or was told to take, and no part has taken yet."""
        return max(self.kept(uuid, name), self._given.get((uuid, name), 0) - self._mine[uuid, name])

    def has_room(self, uuid: str, name: str, amount: int) -> bool:
        """Say whether the provider can give so much of a class."""
        stock = self._stocks.get((uuid, name))
        if stock is None:
            return False
        if amount <= self.kept(uuid, name):
            return True
        return stock.has_room_for(amount, self._mine[uuid, name])

    def most(self, name: str, amount: int, uuids: Iterable[str]) -> Parts:
        """Return how as much as there is of an amount lies on providers, the first ones first."""
        usable = [one for one in uuids if (one, name) in self._stocks and not self._mine[one, name]]
        sizes = largest_spread(amount, [self._stocks[one, name] for one in usable])
        return {(one, name): size for one, size in zip(usable, sizes, strict=True) if size}

    def no_room(self, name: str, amount: int, uuids: Iterable[str]) -> str:
        """Return why there is no room for so much of a class."""
        stocks = {uuid: self._stocks[uuid, name] for uuid in uuids if (uuid, name) in self._stocks}
        if not stocks:
            return f"no room for {amount} {name} (no provider has any)"
        free = ", ".join(
            f"{self.givers[uuid].name} {max(0, stock.free)}" for uuid, stock in stocks.items()
        )
        largest = max(stock.max_unit for stock in stocks.values())
        return f"no room for {amount} {name} (free: {free}; at most {largest} each)"

    def _known(self, amounts: ProviderAmounts) -> Parts:
        return {
            (uuid, name): amount
            for uuid, part in amounts.items()
            for name, amount in part.items()
            if (uuid, name) in self._stocks
        }
