"""Allocation candidates by brute force, written from allocation-candidates.md 2 and 3.

Slow, short and independent of the service's code: the oracle for small clouds.
"""

import dataclasses
import itertools
from collections import Counter

SHARING = "MISC_SHARES_VIA_AGGREGATE"


@dataclasses.dataclass(frozen=True)
class Stock:
    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 0x7FFFFFFF
    step_size: int = 1
    allocation_ratio: float = 1.0
    used: int = 0

    @property
    def capacity(self):
        return int((self.total - self.reserved) * self.allocation_ratio)

    def fits(self, amount):
        return (
            self.used + amount <= (self.total - self.reserved) * self.allocation_ratio
            and self.min_unit <= amount <= self.max_unit
            and amount % self.step_size == 0
        )

    def holds(self, amount):
        return self.used + amount <= self.capacity and amount <= self.max_unit


@dataclasses.dataclass(frozen=True)
class Provider:
    name: str
    parent: str | None
    aggregates: frozenset
    traits: frozenset
    stock: dict


@dataclasses.dataclass(frozen=True)
class Ask:
    """One request group; an empty suffix is the unsuffixed group."""

    suffix: str
    resources: dict
    required: tuple = ()
    forbidden: frozenset = frozenset()
    member_of: tuple = ()
    not_member_of: frozenset = frozenset()
    in_tree: str | None = None


@dataclasses.dataclass(frozen=True)
class Question:
    asks: tuple
    policy: str | None = None
    root_required: frozenset = frozenset()
    root_forbidden: frozenset = frozenset()
    subtrees: tuple = ()
    limit: int | None = None


class UnknownName(Exception):
    """A trait or class that doesn't exist; the message is the end of the error's text."""


class World:
    def __init__(self, providers, known_traits, known_classes):
        self.providers = {provider.name: provider for provider in providers}
        self.known_traits = known_traits
        self.known_classes = known_classes

    def ancestry(self, name):
        """Return the provider and its ancestors."""
        found = [name]
        while self.providers[found[-1]].parent is not None:
            found.append(self.providers[found[-1]].parent)
        return found

    def root(self, name):
        return self.ancestry(name)[-1]

    def anchors(self, name):
        found = {self.root(name)}
        provider = self.providers[name]
        if SHARING in provider.traits:
            found |= {
                self.root(other.name)
                for other in self.providers.values()
                if other.aggregates & provider.aggregates
            }
        return found

    def search(self, question, nested=True):
        """{(allocations, mappings)}, both frozensets."""
        return set().union(*self.by_anchor(question, nested).values())

    def by_anchor(self, question, nested=True):
        """{anchor: {(allocations, mappings)}}; without anchors that the search doesn't come to."""
        admissible = self._admissible(question)
        if not admissible and (question.root_required or question.root_forbidden):
            return {}
        options = []
        for ask in question.asks:
            found = self._options(ask, admissible)
            if not any(found.values()):
                return {}
            options.append(found)
        candidates = {anchor: set() for anchor in admissible}
        for anchor in admissible:
            for combination in itertools.product(*(found[anchor] for found in options)):
                candidate = self._candidate(question, combination, nested)
                if candidate is not None:
                    candidates[anchor].add(candidate)
        return candidates

    def _admissible(self, question):
        self._check_traits(question.root_required)
        self._check_traits(question.root_forbidden)
        return [
            provider.name
            for provider in self.providers.values()
            if provider.parent is None
            and question.root_required <= provider.traits
            and not question.root_forbidden & provider.traits
        ]

    def _check_traits(self, names):
        for name in sorted(names):
            if name not in self.known_traits:
                raise UnknownName(f"No such trait(s): {name}.")

    def _options(self, ask, admissible):
        """By anchor: (amounts by (provider, class), providers chosen)."""
        nothing = {anchor: [] for anchor in admissible}
        for name in ask.resources:
            if name not in self.known_classes:
                raise UnknownName(f"No such resource class {name}.")
        members = {
            p.name
            for p in self.providers.values()
            if all(some & p.aggregates for some in ask.member_of)
        }
        if ask.member_of and not members:
            return nothing
        for some in ask.required:
            self._check_traits(some)
        self._check_traits(ask.forbidden)
        tree = None
        if ask.in_tree is not None:
            if ask.in_tree not in self.providers:
                return nothing
            tree = self.root(ask.in_tree)
        if ask.suffix:
            return self._single(ask, admissible, tree)
        return {anchor: list(self._spread(ask, anchor, tree, members)) for anchor in admissible}

    def _single(self, ask, admissible, tree):
        found = {anchor: [] for anchor in admissible}
        if not ask.resources and not ask.required and not ask.member_of:
            return found
        for p in self.providers.values():
            if (
                all(n in p.stock and p.stock[n].fits(a) for n, a in ask.resources.items())
                and all(some & p.traits for some in ask.required)
                and not ask.forbidden & p.traits
                and all(some & p.aggregates for some in ask.member_of)
                and not ask.not_member_of & p.aggregates
                and (tree is None or not ask.resources or self.root(p.name) == tree)
            ):
                taken = {(p.name, name): amount for name, amount in ask.resources.items()}
                for anchor in self.anchors(p.name) & found.keys():
                    found[anchor].append((taken, frozenset([p.name])))
        return found

    def _spread(self, ask, anchor, tree, members):
        bad = {p.name for p in self.providers.values() if ask.not_member_of & p.aggregates}

        def serves(p, name, amount):
            if name not in p.stock or not p.stock[name].fits(amount):
                return False
            own = self.root(p.name) == anchor
            if tree is not None:
                if not own or anchor != tree:
                    return False
            elif not own:
                lent = SHARING in p.traits and anchor in self.anchors(p.name)
                if not lent or (ask.member_of and p.name not in members):
                    return False
            if ask.member_of and p.name not in members and anchor not in members:
                return False
            return p.name not in bad and anchor not in bad

        per_class = [
            [p for p in self.providers.values() if serves(p, name, amount)]
            for name, amount in ask.resources.items()
        ]
        for choice in itertools.product(*per_class):
            traits = frozenset().union(*(p.traits for p in choice))
            if ask.forbidden & traits or not all(some & traits for some in ask.required):
                continue
            taken = {
                (p.name, name): amount
                for p, (name, amount) in zip(choice, ask.resources.items(), strict=True)
            }
            yield taken, frozenset(p.name for p in choice)

    def _candidate(self, question, combination, nested):
        chosen = {
            ask.suffix: providers
            for ask, (_, providers) in zip(question.asks, combination, strict=True)
        }
        if question.policy == "isolate":
            singles = [next(iter(names)) for suffix, names in chosen.items() if suffix]
            if len(set(singles)) < len(singles):
                return None
        for subtree in question.subtrees:
            within = {name for suffix in subtree for name in chosen[suffix]}
            if not any(all(top in self.ancestry(v) for v in within) for top in within):
                return None
        total = Counter()
        for taken, _ in combination:
            total.update(taken)
        for (name, resource_class), amount in total.items():
            if not self.providers[name].stock[resource_class].holds(amount):
                return None
        used = {name for name, _ in total}
        if not nested and len({self.root(name) for name in used}) < len(used):
            return None
        return frozenset(total.items()), frozenset(chosen.items())

    def summaries(self, candidates, version, requested):
        """provider_summaries by name, as they are to be shown for these candidates."""
        used = {name for taken, _ in candidates for (name, _), _ in taken}
        if version >= 29:
            roots = {self.root(name) for name in used}
            used = {name for name in self.providers if self.root(name) in roots}
        return {name: self._summary(name, version, requested) for name in used}

    def _summary(self, name, version, requested):
        provider = self.providers[name]
        summary = {
            "resources": {
                key: {"capacity": stock.capacity, "used": stock.used}
                for key, stock in provider.stock.items()
                if version >= 27 or key in requested
            }
        }
        if version >= 17:
            summary["traits"] = sorted(provider.traits)
        if version >= 29:
            summary["parent_provider_uuid"] = provider.parent
            summary["root_provider_uuid"] = self.root(name)
        return summary
