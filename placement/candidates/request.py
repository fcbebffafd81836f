"""A request: its groups, and the conditions on all of them (allocation-candidates.md 2.2)."""

import dataclasses
from collections.abc import Mapping

Sets = tuple[frozenset[str], ...]


@dataclasses.dataclass(frozen=True)
class Group:
    """One request group.

    :param suffix: empty for the group that may take each class from another provider
    :param resources: amount by class, in the query's order
    :param required: sets of traits, one of each is needed
    :param member_of: sets of aggregates, membership in one of each is needed
    :param in_tree: uuid of any provider of the wanted tree
    """

    suffix: str
    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    required: Sets = ()
    forbidden: frozenset[str] = frozenset()
    member_of: Sets = ()
    not_member_of: frozenset[str] = frozenset()
    in_tree: str | None = None


@dataclasses.dataclass(frozen=True)
class CandidateRequest:
    """All of a request.

    :param groups: in the order of their first appearance in the query
    :param same_subtree: sets of suffixes
    :param isolate: whether suffixed groups need different providers
    :param nested: whether one candidate may use several providers of a tree (microversion 1.29)
    :param limit: most candidates to answer
    :param avoid: uuids of providers whose whole trees are left out
    """

    groups: tuple[Group, ...]
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    same_subtree: tuple[frozenset[str], ...] = ()
    isolate: bool = False
    nested: bool = True
    limit: int | None = None
    avoid: frozenset[str] = frozenset()

    @property
    def demand(self) -> dict[str, int]:
        """Return what all groups together ask for: amount by class, in the query's order."""
        amounts: dict[str, int] = {}
        for group in self.groups:
            for name, amount in group.resources.items():
                amounts[name] = amounts.get(name, 0) + amount
        return amounts


@dataclasses.dataclass(frozen=True)
class Generation:
    """How candidates are generated (allocation-candidates.md 4).

    :param cap: most candidates that are generated; None: no bound
    :param depth_first: whether a capped search exhausts one tree before the next
    :param seed: what a random choice among the candidates depends on; None: no random choice
    """

    cap: int | None = None
    depth_first: bool = True
    seed: str | None = None
