"""Takes the steps of a search apart into single conditions, each with a reason (extensions.md 5).

A step may stand for several conditions: that a provider has room, and that min_unit, max_unit and
step_size fit; or several traits. A search only needs to know whether all of them are met, an
explanation which of them.
"""

import dataclasses
import enum
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.free_amounts import LARGEST, free_amounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.masks import mask_steps
from placement.candidates.masks.mask_steps import MaskStep, Remaining
from placement.candidates.request import Group


class Reason(enum.Enum):
    """Why a tree has no candidate (extensions.md 5)."""

    NO_INVENTORY = "no_inventory"
    CAPACITY = "capacity"
    MIN_UNIT = "min_unit"
    MAX_UNIT = "max_unit"
    STEP_SIZE = "step_size"
    TRAIT = "trait"
    FORBIDDEN_TRAIT = "forbidden_trait"
    AGGREGATE = "aggregate"
    FORBIDDEN_AGGREGATE = "forbidden_aggregate"
    IN_TREE = "in_tree"
    ROOT_REQUIRED = "root_required"
    NO_SHARING = "no_sharing"
    SAME_SUBTREE = "same_subtree"
    ISOLATE = "isolate"
    TOGETHER = "together"
    UNKNOWN_NAME = "unknown_name"


@dataclasses.dataclass(frozen=True, eq=False)
class Condition:
    """One condition of a group. The arrays are by slot.

    :param name: what it asks for, in the words of the query
    :param own: the providers that meet it when they serve their own tree
    :param shared: the providers that meet it when they serve other trees
    :param roots: the roots of the trees that may be served at all; None: all
    :param shortfall: how much each provider lacks of what is asked, as a share of it: with 6 of 8
        free it is 0.25. None: it is 1 for each provider that fails
    :param asked: the amount; None: no amount is asked
    """

    reason: Reason
    name: str
    own: Mask
    shared: Mask
    roots: Mask | None = None
    shortfall: npt.NDArray[np.float64] | None = None
    asked: int | None = None

    @property
    def size(self) -> int:
        """Return how many bytes it takes, about."""
        far = 0 if self.shortfall is None else self.shortfall.nbytes
        return self.own.nbytes + far + (0 if self.shared is self.own else self.shared.nbytes)


def listed(names: frozenset[str]) -> str:
    """Return a set of names as it stands in a query: the name alone, or `in:` and all of them."""
    return next(iter(names)) if len(names) == 1 else f"in:{','.join(sorted(names))}"


def conditions_of(
    snapshot: Snapshot, group: Group, step: MaskStep, before: Remaining
) -> Iterator[Condition]:
    """Yield the conditions that a step of the group stands for, in the order of their judgement.

    :param before: the providers that are left before the step
    """
    if step.name == mask_steps.RESOURCES:
        assert step.number is not None
        name, amount = list(group.resources.items())[step.number]
        yield from _of_amount(snapshot, name, amount, step, before)
    elif step.name == mask_steps.REQUIRED:
        sets = group.required if step.number is None else (group.required[step.number],)
        for names in sets:
            mask = snapshot.has_trait(snapshot.names.trait_ids[name] for name in names)
            yield Condition(Reason.TRAIT, listed(names), mask, mask)
    elif step.name == mask_steps.FORBIDDEN_TRAITS:
        for name in sorted(group.forbidden):
            mask = ~snapshot.has_trait([snapshot.names.trait_ids[name]])
            yield Condition(Reason.FORBIDDEN_TRAIT, name, mask, mask)
    elif step.name == mask_steps.MEMBER_OF:
        yield from _of_aggregates(snapshot, group, step)
    elif step.name == mask_steps.FORBIDDEN_AGGREGATES:
        for uuid in sorted(group.not_member_of):
            mask = ~snapshot.is_member(snapshot.aggregates([uuid]))
            roots = None if step.roots is None else mask
            yield Condition(Reason.FORBIDDEN_AGGREGATE, uuid, mask, mask, roots)
    elif step.name == mask_steps.IN_TREE:
        yield Condition(Reason.IN_TREE, str(group.in_tree), step.own, step.shared)
    else:
        yield Condition(Reason.NO_INVENTORY, "", step.own, step.shared)


def _of_aggregates(snapshot: Snapshot, group: Group, step: MaskStep) -> Iterator[Condition]:
    """Yield one condition for each set of aggregates.

    A provider has to be in an aggregate of every set. If aggregates of a root count for its whole
    tree, it is enough that the root is in one of every set.
    """
    root = snapshot.forest.root
    spans = step.own is not step.shared
    members = np.ones(snapshot.size, np.bool_)
    for uuids in group.member_of:
        members = members & snapshot.is_member(snapshot.aggregates(uuids))
        own = members[root] | members if spans else members
        yield Condition(Reason.AGGREGATE, listed(uuids), own, members)


def _of_amount(
    snapshot: Snapshot, name: str, amount: int, step: MaskStep, before: Remaining
) -> Iterator[Condition]:
    """Yield the conditions of an amount: an inventory, room, min_unit, max_unit, step_size."""
    size = snapshot.size
    column = snapshot.column(snapshot.names.class_ids[name])
    has_class = column.by_slot(np.ones(len(column.slots), np.bool_), size)
    sharing = snapshot.sharing
    is_shared = len(sharing) and bool((has_class & before.shared)[sharing].any())
    reason = Reason.NO_SHARING if is_shared else Reason.NO_INVENTORY
    yield Condition(reason, name, has_class, has_class, None, None, amount)
    free = free_amounts(column)
    # the integers of columns have 64 bits; a larger amount would overflow in the subtraction
    bounded = min(amount, LARGEST)
    short = np.clip((bounded - free) / bounded, 0, 1)
    parts = [(Reason.CAPACITY, free >= amount, short)]
    least, most = column.min_unit, column.max_unit
    parts.append((Reason.MIN_UNIT, least <= amount, 1 - bounded / np.maximum(least, bounded)))
    parts.append((Reason.MAX_UNIT, most >= amount, np.clip((bounded - most) / bounded, 0, 1)))
    steps = np.maximum(column.step_size, 1)
    over = amount % steps if amount == bounded else _remainders(amount, steps)
    parts.append((Reason.STEP_SIZE, over == 0, over / bounded))
    for reason, ok, far in parts:
        if reason is not Reason.CAPACITY and ok.all():
            continue
        # a provider without an inventory fails the first condition alone
        mask = ~has_class | column.by_slot(ok, size)
        yield Condition(reason, name, mask, mask, None, column.by_slot(far, size), amount)


def _remainders(amount: int, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.array([amount % step for step in steps.tolist()], np.int64)
