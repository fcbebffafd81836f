"""A request group with ids in place of names: the first step of its search."""

from collections.abc import Iterable
from typing import NamedTuple

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.key_sets import Ids
from placement.candidates.cloud.snapshot import CloudColumns
from placement.candidates.cloud.tree_subset import SearchedTrees
from placement.candidates.request import Group
from placement.candidates.slots import SearchedSlot
from placement.candidates.tree_problem import Demand
from placement.errors import BadRequest


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

    Raise BadRequest for the first resource class or trait that doesn't exist. An aggregate or a
    tree that doesn't exist is no error: no provider is in it.
    """
    cloud = trees.cloud
    demand = _demand(cloud, group)
    member_of = tuple([cloud.aggregates(uuids) for uuids in group.member_of])
    members = _members(cloud, member_of)
    if members is not None and not members.any():
        return Unmatched("member_of")
    required = tuple([trait_ids(cloud, names) for names in group.required])
    forbidden = trait_ids(cloud, group.forbidden)
    root = None
    if group.in_tree is not None:
        slot = trees.slot(group.in_tree)
        if slot is None:
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

    Raise BadRequest for the first name that doesn't exist.
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
