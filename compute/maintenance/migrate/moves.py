"""The moves by which a reshape changes the allocations of consumers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: (provider uuid, class) → amount
_Held = dict[tuple[str, str], int]


@dataclass(frozen=True)
class AmountMove:
    """An `amount` of a class that goes from `source` to `target`, both uuids of providers.

    `renamed_to` is the class that it becomes. Without a target the amount is lost, without a source
    it is new.
    """

    resource_class: str
    amount: int
    source: str | None
    target: str | None
    renamed_to: str | None = None


def moves_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[AmountMove]]:
    """Return consumer → its moves, for those that have any.

    Both are consumer → `{"allocations": {provider: {"resources": {class: amount}}}}`; a consumer
    that `after` doesn't mention keeps what it has.
    """
    found = {
        consumer: _moves(_held(before.get(consumer)), _held(after[consumer]))
        for consumer in sorted(after)
    }
    return {consumer: moves for consumer, moves in found.items() if moves}


def _held(body: Mapping[str, Any] | None) -> _Held:
    allocations = body["allocations"] if body else {}
    return {
        (provider, name): amount
        for provider, part in allocations.items()
        for name, amount in part["resources"].items()
    }


def _moves(before: _Held, after: _Held) -> list[AmountMove]:
    less = {key: n - after.get(key, 0) for key, n in before.items() if n > after.get(key, 0)}
    more = {key: n - before.get(key, 0) for key, n in after.items() if n > before.get(key, 0)}
    moves = _within_classes(less, more)
    moves += _renames(less, more)
    moves += [AmountMove(name, amount, source, None) for (source, name), amount in less.items()]
    moves += [AmountMove(name, amount, None, target) for (target, name), amount in more.items()]
    return moves


def _within_classes(less: _Held, more: _Held) -> list[AmountMove]:
    """Return the moves within a class, and take their amounts out of both."""
    moves = []
    for source, name in list(less):
        for target, other in list(more):
            left = less.get((source, name), 0)
            if name != other or not left:
                continue
            amount = min(left, more[target, other])
            moves.append(AmountMove(name, amount, source, target))
            _take(less, (source, name), amount)
            _take(more, (target, other), amount)
    return moves


def _renames(less: _Held, more: _Held) -> list[AmountMove]:
    """Return the renames: a class gained exactly the amount that another lost."""
    moves = []
    for (source, name), amount in list(less.items()):
        equal = next((key for key, gained in more.items() if gained == amount), None)
        if equal is not None:
            moves.append(AmountMove(name, amount, source, equal[0], renamed_to=equal[1]))
            _take(less, (source, name), amount)
            _take(more, equal, amount)
    return moves


def _take(held: _Held, key: tuple[str, str], amount: int) -> None:
    held[key] -= amount
    if not held[key]:
        del held[key]
