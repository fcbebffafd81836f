"""What an instance requests, as the query of GET /allocation_candidates (compute.md §3.13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode


@dataclass(frozen=True)
class RequestGroup:
    """Resources that must come from one provider; those without a suffix from one tree.

    `member_of` has sets of aggregates: the provider must be in one aggregate of each set.
    """

    resources: Mapping[str, int] = field(default_factory=dict)
    required_traits: frozenset[str] = frozenset()
    forbidden_traits: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    forbidden_aggregates: frozenset[str] = frozenset()
    in_tree: str | None = None

    def parameters(self, suffix: str) -> list[tuple[str, str]]:
        """Return the group's part of the query, as (name, value)."""
        pairs = []
        if self.resources:
            amounts = (f"{name}:{amount}" for name, amount in sorted(self.resources.items()))
            pairs.append((f"resources{suffix}", ",".join(amounts)))
        traits = _traits(self.required_traits, self.forbidden_traits)
        if traits:
            pairs.append((f"required{suffix}", traits))
        for aggregates in self.member_of:
            pairs.append((f"member_of{suffix}", f"in:{','.join(sorted(aggregates))}"))
        if self.forbidden_aggregates:
            pairs.append(
                (f"member_of{suffix}", f"!in:{','.join(sorted(self.forbidden_aggregates))}")
            )
        if self.in_tree:
            pairs.append((f"in_tree{suffix}", self.in_tree))
        return pairs


@dataclass(frozen=True)
class ResourceRequest:
    """A request for allocation candidates. `groups` is suffix → group; "" is the unnumbered one.

    `limit` None leaves it to `[scheduler]max_placement_results`. `same_subtree` is a list of sets
    of suffixes.
    """

    groups: Mapping[str, RequestGroup]
    limit: int | None = None
    group_policy: str | None = None
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    same_subtree: tuple[frozenset[str], ...] = ()

    def to_querystring(self, default_limit: int | None = None) -> str:
        """Return the whole query, url-encoded, its parameters in alphabetical order."""
        return urlencode(self.parameters(default_limit))

    def parameters(self, default_limit: int | None = None) -> list[tuple[str, str]]:
        """Return the whole query, as (name, value) in alphabetical order."""
        pairs = [pair for suffix, group in self.groups.items() for pair in group.parameters(suffix)]
        # As nova sends it; placement's answer says that there are traits without resources.
        pairs += [(f"resources{suffix}", "") for suffix in self._without_resources()]
        limit = default_limit if self.limit is None else self.limit
        if limit is not None:
            pairs.append(("limit", str(limit)))
        if self.group_policy:
            pairs.append(("group_policy", self.group_policy))
        root_traits = _traits(self.root_required, self.root_forbidden)
        if root_traits:
            pairs.append(("root_required", root_traits))
        for suffixes in self.same_subtree:
            pairs.append(("same_subtree", ",".join(sorted(suffixes))))
        return sorted(pairs)

    def _without_resources(self) -> Iterator[str]:
        """Yield the suffixes of groups that have traits alone, and no others beside them."""
        together = frozenset[str]().union(*self.same_subtree)
        for suffix, group in self.groups.items():
            traits = group.required_traits or group.forbidden_traits
            if traits and not group.resources and suffix not in together:
                yield suffix


def _traits(required: frozenset[str], forbidden: frozenset[str]) -> str:
    return ",".join([*sorted(required), *(f"!{name}" for name in sorted(forbidden))])
