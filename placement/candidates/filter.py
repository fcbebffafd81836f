"""From groups to masks: which providers can serve what, and which roots can serve all.

The cheap half of the search: whole columns at a time, before any combination is looked at.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np

from placement.candidates.columns import Mask
from placement.candidates.explain import Account
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.sharing import reached_roots
from placement.candidates.snapshot import Snapshot
from placement.errors import BadRequest

#: amounts by resource class id
Demand = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """What one provider of a candidate has to give: a suffixed group, or a class of the other.

    :param own: providers that can serve it within their own tree
    :param shared: sharing providers that can serve it in the other trees of their aggregates
    """

    suffix: str
    demand: Demand
    own: Mask
    shared: Mask


@dataclasses.dataclass(frozen=True, eq=False)
class FilteredGroup:
    """The parts of one group with what concerns them together.

    :param roots: trees that have options for every part
    :param trait_sets: providers by trait set of which the parts' providers together need one each;
        empty when the parts' own masks say it already
    """

    group: Group
    parts: tuple[Part, ...]
    roots: Mask
    trait_sets: tuple[Mask, ...] = ()

    @property
    def decided(self) -> bool:
        """Whether every root of `roots` surely has an option for the group."""
        return len(self.parts) == 1 or not self.trait_sets


def root_filter(snapshot: Snapshot, request: CandidateRequest, account: Account) -> Mask:
    """The roots that pass root_required. Raises BadRequest for unknown traits."""
    mask = snapshot.forest.is_root
    account.begin("root_required", mask, mask)
    if not request.root_required and not request.root_forbidden:
        return mask
    required = _trait_ids(snapshot, sorted(request.root_required))
    forbidden = _trait_ids(snapshot, sorted(request.root_forbidden))
    for trait_id in required:
        mask = mask & snapshot.has_trait([trait_id])
    if forbidden:
        mask = mask & ~snapshot.has_trait(forbidden)
    account.step("root_required", None, mask, mask)
    return mask


def _trait_ids(snapshot: Snapshot, names: Iterable[str]) -> list[int]:
    ids = snapshot.names.trait_ids
    found = []
    for name in names:
        if name not in ids:
            raise BadRequest(f"No such trait(s): {name}.")
        found.append(ids[name])
    return found


class GroupFilter:
    """Filters the providers for one group after the other.

    :param roots: the roots that may be anchors at all
    """

    def __init__(self, snapshot: Snapshot, roots: Mask, account: Account) -> None:
        self._snapshot = snapshot
        self._roots = roots
        self._account = account
        self._known: dict[object, tuple[Mask, Mask]] = {}

    def apply(self, group: Group) -> FilteredGroup | None:
        """The group's options, or None if masks show that there are none.

        Looks names up in the order of allocation-candidates.md 1.9 and raises BadRequest for the
        first one that doesn't exist.
        """
        demand = self._demand(group)
        members = self._members(group)
        if members is not None and not members.any():
            self._account.step("member_of", group.suffix, members, self._roots)
            return None
        required = [_trait_ids(self._snapshot, sorted(names)) for names in group.required]
        forbidden = _trait_ids(self._snapshot, sorted(group.forbidden))
        tree = None
        if group.in_tree is not None:
            slot = self._snapshot.slot(group.in_tree)
            if slot is None:
                return None
            tree = int(self._snapshot.forest.root[slot])
        if group.suffix:
            found = self._suffixed(group, demand, members, required, forbidden, tree)
        else:
            found = self._unsuffixed(group, demand, members, required, forbidden, tree)
        return found if found.roots.any() else None

    def _demand(self, group: Group) -> Demand:
        ids = self._snapshot.names.class_ids
        for name in group.resources:
            if name not in ids:
                raise BadRequest(
                    f"Invalid resource class in resources parameter: No such resource class {name}."
                )
        return tuple((ids[name], amount) for name, amount in group.resources.items())

    def _members(self, group: Group) -> Mask | None:
        """The providers that are in one aggregate of each set; None: no set was given."""
        mask: Mask | None = None
        for uuids in group.member_of:
            more = self._snapshot.is_member(uuids)
            mask = more if mask is None else mask & more
        return mask

    def _suffixed(
        self,
        group: Group,
        demand: Demand,
        members: Mask | None,
        required: list[list[int]],
        forbidden: list[int],
        tree: int | None,
    ) -> FilteredGroup:
        """Single provider; all is about that provider itself (2.3, 2.4)."""
        resourceless = not demand
        key = (
            frozenset(demand),
            frozenset(group.required),
            group.forbidden,
            frozenset(group.member_of),
            group.not_member_of,
            tree,
        )
        if key not in self._known:
            self._known[key] = self._single(
                group, demand, members, required, forbidden, None if resourceless else tree
            )
        mask, roots = self._known[key]
        part = Part(group.suffix, demand, mask, mask)
        return FilteredGroup(group, (part,), roots)

    def _single(
        self,
        group: Group,
        demand: Demand,
        members: Mask | None,
        required: list[list[int]],
        forbidden: list[int],
        tree: int | None,
    ) -> tuple[Mask, Mask]:
        snapshot, suffix = self._snapshot, group.suffix
        mask = snapshot.forest.alive
        for class_id, amount in demand:
            mask = mask & snapshot.column(class_id).fits(amount, snapshot.size)
            self._account.step(
                f"resources {snapshot.names.classes[class_id]}:{amount}", suffix, mask, self._roots
            )
        if not demand and not required and members is None:
            mask = np.zeros(snapshot.size, np.bool_)
            self._account.step("no positive filter", suffix, mask, self._roots)
        for ids in required:
            mask = mask & snapshot.has_trait(ids)
            self._account.step("required", suffix, mask, self._roots)
        if forbidden:
            mask = mask & ~snapshot.has_trait(forbidden)
            self._account.step("forbidden traits", suffix, mask, self._roots)
        if members is not None:
            mask = mask & members
            self._account.step("member_of", suffix, mask, self._roots)
        if group.not_member_of:
            mask = mask & ~snapshot.is_member(group.not_member_of)
            self._account.step("forbidden aggregates", suffix, mask, self._roots)
        if tree is not None:
            mask = mask & (snapshot.forest.root == tree)
            self._account.step("in_tree", suffix, mask, self._roots)
        roots = self._reached(mask, mask) & self._roots
        self._account.step("roots", suffix, mask, roots)
        return mask, roots

    def _unsuffixed(
        self,
        group: Group,
        demand: Demand,
        members: Mask | None,
        required: list[list[int]],
        forbidden: list[int],
        tree: int | None,
    ) -> FilteredGroup:
        """Each class from whichever provider (2.5)."""
        snapshot, suffix = self._snapshot, group.suffix
        forest = snapshot.forest
        own, shared = forest.alive, forest.alive
        roots = self._roots
        if tree is not None:
            own = own & (forest.root == tree)
            shared = np.zeros(snapshot.size, np.bool_)
            self._account.step("in_tree", suffix, own, roots)
        if members is not None:
            # a root's aggregates span its tree
            own = own & (members[forest.root] | members if forest.nested else members)
            shared = shared & members
            self._account.step("member_of", suffix, own | shared, roots)
        if group.not_member_of:
            bad = snapshot.is_member(group.not_member_of)
            own, shared, roots = own & ~bad, shared & ~bad, roots & ~bad
            self._account.step("forbidden aggregates", suffix, own | shared, roots)
        if forbidden:
            fine = ~snapshot.has_trait(forbidden)
            own, shared = own & fine, shared & fine
            self._account.step("forbidden traits", suffix, own | shared, roots)
        sets = [snapshot.has_trait(ids) for ids in required]
        if sets and self._alone(demand):
            for traits in sets:
                own, shared = own & traits, shared & traits
            self._account.step("required", suffix, own | shared, roots)
            sets = []
        parts = []
        for class_id, amount in demand:
            fits = snapshot.column(class_id).fits(amount, snapshot.size)
            part = Part(suffix, ((class_id, amount),), own & fits, shared & fits)
            parts.append(part)
            roots = roots & self._reached(part.own, part.shared)
            self._account.step(
                f"resources {snapshot.names.classes[class_id]}:{amount}", suffix, part.own, roots
            )
        for traits in sets:
            having = np.logical_or.reduce([part.own for part in parts]) & traits
            lent = np.logical_or.reduce([part.shared for part in parts]) & traits
            roots = roots & self._reached(having, lent)
            self._account.step("required", suffix, having | lent, roots)
        return FilteredGroup(group, tuple(parts), roots, tuple(sets))

    def _alone(self, demand: Demand) -> bool:
        """Whether all parts of the unsuffixed group must be on one and the same provider."""
        flat = not self._snapshot.forest.nested and not len(self._snapshot.sharing)
        return flat or len(demand) == 1

    def _reached(self, own: Mask, shared: Mask) -> Mask:
        """The roots with an option among their own providers or the sharing ones."""
        forest = self._snapshot.forest
        roots = forest.roots_of(own) if forest.nested else own
        sharing = self._snapshot.sharing
        if len(sharing):
            lending = sharing[shared[sharing]]
            if len(lending):
                roots = roots | reached_roots(self._snapshot, lending.tolist())
        return roots
