"""A model of Placement with one resource class: pure functions from state to result and new state.

The model follows rest-api.md 4 alone and has no transactions, locks or retries.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

#: CONFLICT: another writer was first; REFUSED: no capacity or no inventory
CONFLICT = "conflict"
REFUSED = "refused"
IN_USE = "in use"
MISSING = "missing"
NO_CANDIDATE = "no candidate"
DONE = "done"
#: a provider would be in another tree, or its own ancestor
MISPLACED = "misplaced"
#: what stays as it is
KEPT = "kept"

Amounts = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Provider:
    """A provider's generation, the total of its inventory (None: no inventory), and its parent."""

    generation: int
    total: int | None
    parent: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Consumer:
    """An existing consumer, and its allocations as (provider, amount) in ascending order.

    A new consumer without allocations exists, too, but can't be read (rest-api.md 4.5, 4.6).
    """

    generation: int
    holds: Amounts


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """Providers and consumers by number; a consumer that doesn't exist is None."""

    providers: tuple[Provider, ...]
    consumers: tuple[Consumer | None, ...]

    @classmethod
    def fresh(cls, providers: int, consumers: int, total: int) -> "State":
        """Return a state in which all providers have inventories and no consumer exists."""
        return cls((Provider(1, total),) * providers, (None,) * consumers)

    def used(self, provider: int) -> int:
        """Return the allocated amount of a provider."""
        return sum(
            amount
            for consumer in self.consumers
            if consumer is not None
            for held, amount in consumer.holds
            if held == provider
        )

    def with_providers(self, changed: Mapping[int, Provider]) -> "State":
        now = tuple(changed.get(n, provider) for n, provider in enumerate(self.providers))
        return dataclasses.replace(self, providers=now)

    def with_consumers(self, changed: Mapping[int, Consumer | None]) -> "State":
        now = tuple(changed.get(n, consumer) for n, consumer in enumerate(self.consumers))
        return dataclasses.replace(self, consumers=now)


@dataclasses.dataclass(frozen=True)
class Wish:
    """The requested allocations of a consumer.

    :param generation: the consumer generation that the caller expects; None: it must be new
    """

    consumer: int
    generation: int | None
    holds: Amounts


Outcome = tuple[Any, State]


@dataclasses.dataclass(frozen=True)
class Write:
    """PUT or POST of allocations."""

    wishes: tuple[Wish, ...]

    def apply(self, state: State) -> Outcome:
        refusal = _why_not(state, self.wishes)
        if refusal is not None:
            return refusal, state
        return DONE, _bumped(_written(state, self.wishes), _named(state, self.wishes))


@dataclasses.dataclass(frozen=True)
class Claim:
    """POST /berth/v1/claims for one consumer, limited to the tree of a provider.

    The result of success has the consumer's generation, and the provider that gave the amount.

    :param chosen: the provider that gave it, or may have given it; None: the claim failed
    """

    consumer: int
    tree: int
    amount: int
    chosen: int | None = None

    def apply(self, state: State) -> Outcome:
        root = _top(state, self.tree)
        members = [n for n in range(len(state.providers)) if _top(state, n) == root]
        now = state.consumers[self.consumer]
        if now is not None and now.holds:
            provider, amount = now.holds[0]
            if len(now.holds) > 1 or provider not in members or amount != self.amount:
                return CONFLICT, state
            return (DONE, now.generation, provider), state
        able = [n for n in members if self._fits(state, n)]
        if self.chosen not in able:
            return (f"one of {able}" if able else NO_CANDIDATE), state
        after = Consumer((now.generation if now else 0) + 1, ((self.chosen, self.amount),))
        state = state.with_consumers({self.consumer: after})
        return (DONE, after.generation, self.chosen), _bumped(state, {self.chosen})

    def _fits(self, state: State, provider: int) -> bool:
        total = state.providers[provider].total
        return total is not None and state.used(provider) + self.amount <= total


@dataclasses.dataclass(frozen=True)
class Release:
    """DELETE of a consumer's allocations, which changes no generation."""

    consumer: int

    def apply(self, state: State) -> Outcome:
        now = state.consumers[self.consumer]
        if now is None or not now.holds:
            return MISSING, state
        return DONE, state.with_consumers({self.consumer: None})


@dataclasses.dataclass(frozen=True)
class Restock:
    """PUT of a provider's inventory, which may become less than the usage."""

    provider: int
    generation: int
    total: int

    def apply(self, state: State) -> Outcome:
        now = state.providers[self.provider]
        if now.generation != self.generation:
            return CONFLICT, state
        after = dataclasses.replace(now, generation=now.generation + 1, total=self.total)
        return DONE, state.with_providers({self.provider: after})


@dataclasses.dataclass(frozen=True)
class Reshape:
    """POST /reshaper: move the inventory of one provider to another, with its allocations.

    :param generations: of source and target, as the caller expects them
    """

    source: int
    target: int
    generations: tuple[int, int]
    total: int
    wishes: tuple[Wish, ...]

    def apply(self, state: State) -> Outcome:
        source, target = state.providers[self.source], state.providers[self.target]
        if (source.generation, target.generation) != self.generations:
            return CONFLICT, state
        union = state.with_providers({self.target: dataclasses.replace(target, total=self.total)})
        refusal = _why_not(union, self.wishes)
        if refusal is not None:
            return refusal, state
        after = _written(union, self.wishes)
        if after.used(self.source):
            return IN_USE, state
        named = _named(state, self.wishes)
        after = after.with_providers(
            {
                # the reference's three rounds: union, allocations, final inventories
                self.source: dataclasses.replace(
                    source, generation=source.generation + 1, total=None
                ),
                self.target: dataclasses.replace(
                    target, generation=target.generation + 2, total=self.total
                ),
            }
        )
        return DONE, _bumped(after, named)


@dataclasses.dataclass(frozen=True)
class Change:
    """What a write of a tree says of one provider.

    :param generation: as the caller expects it
    :param total: KEPT: the inventory stays; None: it is removed
    """

    provider: int
    generation: int
    parent: int | None
    total: int | str | None


@dataclasses.dataclass(frozen=True)
class WriteTree:
    """PUT of a whole tree, with allocations."""

    root: int
    changes: tuple[Change, ...]
    wishes: tuple[Wish, ...]

    def apply(self, state: State) -> Outcome:
        now = {change.provider: state.providers[change.provider] for change in self.changes}
        if any(now[change.provider].generation != change.generation for change in self.changes):
            return CONFLICT, state
        union = state.with_providers(
            {
                change.provider: dataclasses.replace(
                    now[change.provider],
                    parent=change.parent,
                    # until the consumers have moved, the old inventory is there, too
                    total=now[change.provider].total
                    if change.total in (KEPT, None)
                    else change.total,
                )
                for change in self.changes
            }
        )
        refusal = _why_not(union, self.wishes)
        if refusal == CONFLICT:
            return refusal, state
        if any(_top(union, number) != self.root for number in (self.root, *now)):
            return MISPLACED, state
        if refusal is not None:
            return refusal, state
        after = _written(union, self.wishes)
        stocked = {change.provider for change in self.changes if change.total != KEPT}
        emptied = {change.provider for change in self.changes if change.total is None}
        if any(after.used(number) for number in emptied):
            return IN_USE, state
        after = after.with_providers(
            {n: dataclasses.replace(after.providers[n], total=None) for n in emptied}
        )
        named = _named(state, self.wishes)
        after = _bumped(after, named | stocked)
        told = tuple((n, after.providers[n].generation) for n in sorted({*now, *named}))
        return (DONE, told), after


@dataclasses.dataclass(frozen=True)
class ReadPlace:
    """GET of a provider: its generation, its parent, and the root of its tree."""

    provider: int

    def apply(self, state: State) -> Outcome:
        now = state.providers[self.provider]
        return (now.generation, now.parent, _top(state, self.provider)), state


@dataclasses.dataclass(frozen=True)
class ReadConsumer:
    """GET /allocations/{consumer}: its generation, and (provider, provider generation, amount)."""

    consumer: int

    def apply(self, state: State) -> Outcome:
        now = state.consumers[self.consumer]
        if now is None or not now.holds:
            return (None, ()), state
        holds = tuple((p, state.providers[p].generation, amount) for p, amount in now.holds)
        return (now.generation, holds), state


@dataclasses.dataclass(frozen=True)
class ReadProvider:
    """GET …/inventories: generation and total."""

    provider: int

    def apply(self, state: State) -> Outcome:
        now = state.providers[self.provider]
        return (now.generation, now.total), state


@dataclasses.dataclass(frozen=True)
class ReadUsage:
    """GET …/usages: generation and used amount, which is 0 without an inventory."""

    provider: int

    def apply(self, state: State) -> Outcome:
        return (state.providers[self.provider].generation, state.used(self.provider)), state


@dataclasses.dataclass(frozen=True)
class Search:
    """GET /allocation_candidates for one unit: (provider, capacity, used) of each match."""

    def apply(self, state: State) -> Outcome:
        found = [
            (number, provider.total, state.used(number))
            for number, provider in enumerate(state.providers)
            if provider.total is not None and state.used(number) < provider.total
        ]
        return tuple(found), state


Operation = (
    Write
    | Claim
    | Release
    | Restock
    | Reshape
    | WriteTree
    | ReadConsumer
    | ReadProvider
    | ReadPlace
    | ReadUsage
    | Search
)


def _top(state: State, provider: int) -> int | None:
    """Return the root of the provider's tree; None if its way up is a circle."""
    way = [provider]
    while (parent := state.providers[way[-1]].parent) is not None:
        if parent in way:
            return None
        way.append(parent)
    return way[-1]


def _why_not(state: State, wishes: tuple[Wish, ...]) -> str | None:
    for wish in wishes:
        now = state.consumers[wish.consumer]
        if (now.generation if now else None) != wish.generation:
            return CONFLICT
    others = state.with_consumers(dict.fromkeys(wish.consumer for wish in wishes))
    asked: dict[int, int] = {}
    for wish in wishes:
        for provider, amount in wish.holds:
            asked[provider] = asked.get(provider, 0) + amount
    for provider, amount in asked.items():
        total = state.providers[provider].total
        if total is None:
            return REFUSED
        after = others.used(provider) + amount
        # a usage above the total may stay, but must not grow
        if after > total and after > state.used(provider):
            return REFUSED
    return None


def _written(state: State, wishes: tuple[Wish, ...]) -> State:
    return state.with_consumers(
        {wish.consumer: _after(state.consumers[wish.consumer], wish) for wish in wishes}
    )


def _after(now: Consumer | None, wish: Wish) -> Consumer | None:
    if wish.holds:
        return Consumer((wish.generation or 0) + 1, wish.holds)
    if now is not None and now.holds:
        return None
    return Consumer(now.generation if now else 0, ())


def _named(before: State, wishes: tuple[Wish, ...]) -> set[int]:
    """Return the providers whose generation changes: requested, or completely released."""
    named = set()
    for wish in wishes:
        now = before.consumers[wish.consumer]
        given_up = now.holds if now is not None and not wish.holds else ()
        named |= {provider for provider, _ in (*wish.holds, *given_up)}
    return named


def _bumped(state: State, providers: set[int]) -> State:
    return state.with_providers(
        {
            number: dataclasses.replace(
                state.providers[number], generation=state.providers[number].generation + 1
            )
            for number in providers
        }
    )
