"""The conditions of a group as named steps, each of which narrows masks of providers.

A step says which providers meet one condition. `filter.py` applies the steps one after the other
and tells a listener what each of them left.
"""

import functools
import operator
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.snapshot import CloudColumns
from placement.candidates.masks.resolved_group import ResolvedGroup

#: the names of the steps
RESOURCES, REQUIRED, FORBIDDEN_TRAITS = "resources", "required", "forbidden traits"
MEMBER_OF, FORBIDDEN_AGGREGATES, IN_TREE = "member_of", "forbidden aggregates", "in_tree"
NOTHING_ASKED = "no positive filter"


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
