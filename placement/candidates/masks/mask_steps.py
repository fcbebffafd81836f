"""The conditions of a group as named steps, each of which narrows masks of providers.

First the names of the group are looked up. A step says which providers meet one condition;
`filter.py` applies the steps one after the other and tells a listener what each of them left.
"""

import functools
import operator
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.key_sets import Ids
from placement.candidates.cloud.snapshot import CloudColumns, SearchedTrees
from placement.candidates.request import Group
from placement.candidates.slots import SearchedSlot
from placement.candidates.tree_problem import Demand
from placement.errors import BadRequest

#: the names of the steps
RESOURCES, REQUIRED, FORBIDDEN_TRAITS = "resources", "required", "forbidden traits"
MEMBER_OF, FORBIDDEN_AGGREGATES, IN_TREE = "member_of", "forbidden aggregates", "in_tree"
NOTHING_ASKED = "no positive filter"


class ResolvedGroup(NamedTuple):
    """One request group, every name of it looked up once.

    :param suffix: empty for the group that may take each class from another provider
    :param demand: (resource class id, amount), in the query's order
    :param required: sets of trait ids, one of each is needed
    :param forbidden: trait ids
    :param member_of: sets of aggregate ids, membership in one of each is needed; aggregates that
        don't exist are left out
    :param not_member_of: aggregate ids; None: no aggregate is forbidden
    :param root: the slot of the root of the wanted tree; None: any tree
    :param members: the providers that `member_of` allows; None: it allows all
    """

    suffix: str
    demand: Demand
    required: tuple[Ids, ...]
    forbidden: Ids
    member_of: tuple[Ids, ...]
    not_member_of: Ids | None
    root: SearchedSlot | None
    members: Mask | None

    @property
    def conditions(self) -> object:
        """Return a key that groups share when the same providers can serve them."""
        return (
            frozenset(self.demand),
            frozenset(self.required),
            self.forbidden,
            frozenset(self.member_of),
            self.not_member_of,
            self.root,
        )


class Unmatched(NamedTuple):
    """A group that no provider can serve, as its names show before any other condition.

    :param step: the step of the search that found it, `member_of` or `in_tree`
    """

    step: str


def resolve(trees: SearchedTrees, group: Group) -> ResolvedGroup | Unmatched:
    """Look up the names of a group, in the order of allocation-candidates.md 1.9.

    Raises BadRequest for the first resource class or trait that doesn't exist. An aggregate or a
    tree that doesn't exist is no error: no provider is in it. Nor is one that a question takes
    away.
    """
    cloud = trees.cloud
    demand = _demand(cloud, group)
    member_of = tuple([cloud.aggregates(uuids) for uuids in group.member_of])
    members = _members(cloud, member_of)
    if members is not None and not (members & cloud.forest.alive).any():
        return Unmatched("member_of")
    required = tuple([trait_ids(cloud, names) for names in group.required])
    forbidden = trait_ids(cloud, group.forbidden)
    root = None
    if group.in_tree is not None:
        slot = trees.slot(group.in_tree)
        if slot is None or not cloud.forest.alive[slot]:
            return Unmatched("in_tree")
        root = SearchedSlot(int(cloud.forest.root[slot]))
    return ResolvedGroup(
        group.suffix,
        demand,
        required,
        forbidden,
        member_of,
        cloud.aggregates(group.not_member_of) if group.not_member_of else None,
        root,
        members,
    )


def trait_ids(cloud: CloudColumns, names: Iterable[str]) -> Ids:
    """Return the ids of traits, by ascending name.

    Raises BadRequest for the first name that doesn't exist.
    """
    ids = cloud.names.trait_ids
    found = []
    for name in sorted(names):
        if name not in ids:
            raise BadRequest(f"No such trait(s): {name}.")
        found.append(ids[name])
    return tuple(found)


def _demand(cloud: CloudColumns, group: Group) -> Demand:
    ids = cloud.names.class_ids
    demand = []
    for name, amount in group.resources.items():
        if name not in ids:
            raise BadRequest(
                f"Invalid resource class in resources parameter: No such resource class {name}."
            )
        demand.append((ids[name], amount))
    return tuple(demand)


def _members(cloud: CloudColumns, member_of: Iterable[Ids]) -> Mask | None:
    """Return the providers that are in one aggregate of each set; None if no set is given."""
    mask: Mask | None = None
    for aggregate_ids in member_of:
        more = cloud.is_member(aggregate_ids)
        mask = more if mask is None else mask & more
    return mask


class MaskStep(NamedTuple):
    """One condition of a group.

    :param name: what listeners call the condition
    :param own: the providers that may serve their own tree
    :param shared: the providers that may serve other trees, if they are sharing providers
    :param roots: the roots whose trees may be served; None: all
    :param number: which of the group's classes, or sets of required traits; None: all of them
    """

    name: str
    own: Mask
    shared: Mask
    roots: Mask | None = None
    number: int | None = None


class Remaining(NamedTuple):
    """What the steps so far left of the cloud.

    :param own: the providers that may still serve their own tree
    :param shared: the providers that may still serve other trees; the same object as `own` until a
        step treats them differently, so that masks aren't computed twice
    :param roots: the roots whose trees may still be served
    """

    own: Mask
    shared: Mask
    roots: Mask

    def after(self, step: MaskStep) -> "Remaining":
        """Return what the step leaves of this."""
        _, own, shared, roots, _ = step
        alike = own is shared and self.own is self.shared
        own = self.own & own
        shared = own if alike else self.shared & shared
        return Remaining(own, shared, self.roots if roots is None else self.roots & roots)

    @property
    def providers(self) -> Mask:
        """Return the providers that may still serve any tree."""
        return self.own if self.own is self.shared else self.own | self.shared


def of_one_provider(cloud: CloudColumns, group: ResolvedGroup) -> Iterator[MaskStep]:
    """Yield the steps of a suffixed group.

    One provider meets all conditions by itself (allocation-candidates.md 2.3, 2.4).
    """
    yield from of_resources(cloud, group)
    if not group.demand and not group.required and group.members is None:
        yield _both(NOTHING_ASKED, np.zeros(cloud.size, np.bool_))
    yield from of_required_traits(cloud, group)
    if group.forbidden:
        yield _both(FORBIDDEN_TRAITS, ~cloud.has_trait(group.forbidden))
    if group.members is not None:
        yield _both(MEMBER_OF, group.members)
    if group.not_member_of is not None:
        yield _both(FORBIDDEN_AGGREGATES, ~cloud.is_member(group.not_member_of))
    if group.root is not None and group.demand:
        yield _both(IN_TREE, cloud.forest.root == group.root)


def of_several_providers(cloud: CloudColumns, group: ResolvedGroup) -> Iterator[MaskStep]:
    """Yield the steps of the unsuffixed group that concern each of its providers.

    Each class may come from another provider (allocation-candidates.md 2.5).
    """
    forest = cloud.forest
    if group.root is not None:
        yield MaskStep(IN_TREE, forest.root == group.root, np.zeros(cloud.size, np.bool_))
    if group.members is not None:
        members = group.members
        # all providers of a tree count as members of the root's aggregates
        spanned = members[forest.root] | members if forest.nested else members
        yield MaskStep(MEMBER_OF, spanned, members)
    if group.not_member_of is not None:
        allowed = ~cloud.is_member(group.not_member_of)
        yield MaskStep(FORBIDDEN_AGGREGATES, allowed, allowed, allowed)
    if group.forbidden:
        yield _both(FORBIDDEN_TRAITS, ~cloud.has_trait(group.forbidden))


def of_resources(cloud: CloudColumns, group: ResolvedGroup) -> Iterator[MaskStep]:
    """Yield one step for each class: the providers with room for the amount."""
    for number, (class_id, amount) in enumerate(group.demand):
        yield _both(RESOURCES, cloud.column(class_id).fits(amount, cloud.size), number)


def of_required_traits(cloud: CloudColumns, group: ResolvedGroup) -> Iterator[MaskStep]:
    """Yield one step for each required set: the providers with one of its traits."""
    for number, ids in enumerate(group.required):
        yield _both(REQUIRED, cloud.has_trait(ids), number)


def of_required_traits_at_once(cloud: CloudColumns, group: ResolvedGroup) -> Iterator[MaskStep]:
    """Yield one step for all required sets, if there are any."""
    if group.required:
        masks = [cloud.has_trait(ids) for ids in group.required]
        yield _both(REQUIRED, functools.reduce(operator.and_, masks))


def _both(name: str, mask: Mask, number: int | None = None) -> MaskStep:
    """Return a step that treats a provider's own tree and other trees alike."""
    return MaskStep(name, mask, mask, None, number)


class StepListener:
    """Is told after each step of a search which providers are left. This one ignores it.

    The listeners of `extensions/explain` and `extensions/capacity` override what they need.
    """

    #: True: after a group that no provider can serve, the search still does the steps of the groups
    #: behind it, so that the listener is told of all
    complete = False

    def begin(self, roots: Mask) -> None:
        """Note the trees there are before the first step."""

    def root_step(self, name: str, passing: Mask) -> None:
        """Note a condition of the whole request, and the roots that meet it."""

    def unmatched(self, group: Group, step: str) -> None:
        """Note a group whose `member_of` or `in_tree` no provider can meet, see `Unmatched`."""

    def step(self, suffix: str, step: MaskStep, before: Remaining, after: Remaining) -> None:
        """Note a step that each provider of a group has to pass, and what it left."""

    def part(self, suffix: str, step: MaskStep, before: Remaining, after: Remaining) -> None:
        """Note a class of the unsuffixed group, which may come from a provider of its own."""

    def traits_of_tree(self, suffix: str, step: MaskStep, own: Mask, shared: Mask) -> None:
        """Note required traits that any one provider of the unsuffixed group may have for all."""

    def alike(self, suffix: str, first: str) -> None:
        """Note a group with the same conditions as an earlier one, whose masks it gets."""
