"""Moving allocations to other providers when the inventory under them moves.

This is the rule of compute.md §6.6, for any classes and any number of providers: a guest whose
place is known goes there. Any other guest goes to the first provider with room for all of it. A
guest that fits on no single provider is spread.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations, give, held, holdings, take
from compute.provider_tree.stock import Stock, spread

# (provider uuid, class) → amount.
_Parts = dict[tuple[str, str], int]

#: Consumer uuid → provider uuid → class → amount, or None for "nobody knows".
KnownPlaces = Callable[[str], Mapping[str, Mapping[str, int]] | None]


@dataclass(frozen=True)
class Target:
    """A provider that can take allocations, with the inventory it will have."""

    uuid: str
    name: str
    inventory: Mapping[str, Mapping[str, Any]]


def nobody_knows(_consumer_uuid: str) -> None:
    """Say of every consumer that its place isn't known."""


def relocate(
    allocations: Allocations,
    leaving: Mapping[str, Collection[str]],
    targets: Sequence[Target],
    together: Collection[str] = (),
    known_places: KnownPlaces = nobody_knows,
) -> None:
    """Move allocations, in place, off the providers that lose the inventory.

    :param allocations: complete for the providers in `targets`, or room is overestimated
    :param leaving: provider uuid → classes that leave it. Allocations of other providers, of this
        host or not, stay
    :param targets: where to, the preferred first
    :param together: classes that a consumer gets from one target, if one has room for them all
    :param known_places: where a consumer really is; amounts per class must add up to what it holds

    Raises ReshapeFailed if a consumer fits nowhere, or if its known place contradicts what it
    holds; then nothing has changed.

    Consumers with known places come first, then the others, each in the order of their uuids.
    """
    amounts = {
        consumer: _leaving_amounts(body, leaving) for consumer, body in sorted(allocations.items())
    }
    places = {consumer: known_places(consumer) for consumer, moving in amounts.items() if moving}
    ledger = _Ledger(allocations, leaving, targets, together)
    moves = {
        consumer: ledger.place(consumer, amounts[consumer], place)
        for consumer, place in sorted(places.items(), key=lambda item: (item[1] is None, item[0]))
    }
    for consumer, parts in moves.items():
        _move(allocations[consumer], leaving, parts)


def _leaving_amounts(
    body: Mapping[str, object], leaving: Mapping[str, Collection[str]]
) -> Counter[str]:
    amounts: Counter[str] = Counter()
    for provider_uuid, resource_class, amount in holdings(body):
        if resource_class in leaving.get(provider_uuid, ()):
            amounts[resource_class] += amount
    return amounts


def _move(body: dict[str, Any], leaving: Mapping[str, Collection[str]], parts: _Parts) -> None:
    for provider_uuid, resource_classes in leaving.items():
        for resource_class in resource_classes:
            take(body, provider_uuid, resource_class)
    for (provider_uuid, resource_class), amount in parts.items():
        give(body, provider_uuid, resource_class, amount)


class _Ledger:
    """What the targets have left while consumers are being placed."""

    def __init__(
        self,
        allocations: Allocations,
        leaving: Mapping[str, Collection[str]],
        targets: Sequence[Target],
        together: Collection[str],
    ) -> None:
        self._allocations = allocations
        self._names = {target.uuid: target.name for target in targets}
        self._together = together
        self._stocks = {
            (target.uuid, resource_class): Stock.of(record)
            for target in targets
            for resource_class, record in target.inventory.items()
            if resource_class not in leaving.get(target.uuid, ())
        }
        for body in allocations.values():
            for provider_uuid, resource_class, amount in holdings(body):
                if stock := self._stocks.get((provider_uuid, resource_class)):
                    stock.used += amount

    def place(
        self,
        consumer: str,
        amounts: Mapping[str, int],
        place: Mapping[str, Mapping[str, int]] | None,
    ) -> _Parts:
        """Choose where the consumer's amounts go, and count them as used there."""
        parts: _Parts = {}
        if place is not None:
            parts = self._known_parts(consumer, amounts, place)
        decided = {resource_class for _, resource_class in parts}
        undecided = {name: amount for name, amount in amounts.items() if name not in decided}
        for group in self._groups(undecided):
            parts |= self._whole(consumer, group) or self._spread(consumer, group)
        for key, amount in parts.items():
            self._stocks[key].used += amount
        return parts

    def _groups(self, amounts: Mapping[str, int]) -> Iterable[dict[str, int]]:
        """Return the classes that go together as one group, and each other class as its own."""
        group = {name: amount for name, amount in amounts.items() if name in self._together}
        return [group] * bool(group) + [
            {name: amount} for name, amount in amounts.items() if name not in group
        ]

    def _known_parts(
        self,
        consumer: str,
        amounts: Mapping[str, int],
        place: Mapping[str, Mapping[str, int]],
    ) -> _Parts:
        parts = {
            (provider_uuid, resource_class): amount
            for provider_uuid, resources in place.items()
            for resource_class, amount in resources.items()
            if amount and resource_class in amounts
        }
        sums: Counter[str] = Counter()
        for (provider_uuid, resource_class), amount in parts.items():
            sums[resource_class] += amount
            if not self._has_room(consumer, provider_uuid, resource_class, amount):
                raise self._no_room(consumer, resource_class, amount, [provider_uuid])
        for resource_class, amount in sums.items():
            if amount != amounts[resource_class]:
                raise exceptions.ReshapeFailed(
                    error=f"consumer {consumer} holds {amounts[resource_class]} {resource_class} "
                    f"but the host has it with {amount}"
                )
        return parts

    def _whole(self, consumer: str, amounts: Mapping[str, int]) -> _Parts:
        """Return the first target with room for all of it, or nothing."""
        for target in self._names:
            if all(self._has_room(consumer, target, *wanted) for wanted in amounts.items()):
                return {(target, name): amount for name, amount in amounts.items()}
        return {}

    def _spread(self, consumer: str, amounts: Mapping[str, int]) -> _Parts:
        parts: _Parts = {}
        for resource_class, amount in amounts.items():
            # No target of which the consumer holds some already: that allocation stays as it is.
            able = [
                target
                for target in self._names
                if (target, resource_class) in self._stocks
                and not held(self._allocations[consumer], target, resource_class)
            ]
            sizes = spread(amount, [self._stocks[target, resource_class] for target in able])
            if sizes is None:
                raise self._no_room(consumer, resource_class, amount, list(self._names))
            parts |= {
                (target, resource_class): size
                for target, size in zip(able, sizes, strict=True)
                if size
            }
        return parts

    def _has_room(self, consumer: str, target: str, resource_class: str, amount: int) -> bool:
        stock = self._stocks.get((target, resource_class))
        already_held = held(self._allocations[consumer], target, resource_class)
        return stock is not None and stock.has_room_for(amount, already_held)

    def _no_room(
        self, consumer: str, resource_class: str, amount: int, providers: Iterable[str]
    ) -> exceptions.ReshapeFailed:
        stocks = {
            self._names[uuid]: self._stocks[uuid, resource_class]
            for uuid in providers
            if (uuid, resource_class) in self._stocks
        }
        free = ", ".join(f"{name} {max(0, stock.free)}" for name, stock in stocks.items())
        largest = max((stock.max_unit for stock in stocks.values()), default=0)
        room = f"free: {free}; at most {largest} each" if stocks else "no provider has any"
        return exceptions.ReshapeFailed(
            error=f"no room for {amount} {resource_class} of consumer {consumer} ({room})"
        )
