"""Takes a request apart into single conditions, each with a reason (extensions.md 5).

A step of the search may stand for several conditions: that a provider has room, and that min_unit,
max_unit and step_size fit; or several traits. A search only needs to know whether all of them are
met, an explanation which of them. Conditions stand in an order that doesn't depend on the order of
the query's parameters.
"""

import dataclasses
import enum
import functools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.free_amounts import LARGEST, free_amounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.masks.filter import AVOID
from placement.candidates.request import CandidateRequest, Group

#: between the names of conditions that one provider has to meet at once
BOTH = "+"
#: steps of the budget that the conditions of a group cost: so many, and one for so many slots
_MAKING, _SLOTS_OF_STEP = 50, 100


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
    :param absent: the providers for which it isn't judged, as they fail another condition that is
        part of it: no amount can come from a provider without an inventory of the class
    """

    reason: Reason
    name: str
    own: Mask
    shared: Mask
    roots: Mask | None = None
    shortfall: npt.NDArray[np.float64] | None = None
    asked: int | None = None
    absent: Mask | None = None

    def unmet(self, shared: bool = False) -> Mask:
        """Return the providers that can't meet it, for their own tree or for others."""
        unmet = ~(self.shared if shared else self.own)
        return unmet if self.absent is None else unmet | self.absent

    @property
    def size(self) -> int:
        """Return how many bytes it takes, about."""
        far = 0 if self.shortfall is None else self.shortfall.nbytes
        return self.own.nbytes + far + (0 if self.shared is self.own else self.shared.nbytes)


@dataclasses.dataclass(frozen=True, eq=False)
class GroupConditions:
    """All conditions of one group, and of other groups that ask for the same.

    :param group: the first one
    :param common: those that each provider which serves the group has to meet
    :param parts: for each class that may come from another provider than the rest, those of it
    :param of_tree: those that any one of the providers which serve the group has to meet
    """

    group: Group
    common: list[Condition]
    parts: list[list[Condition]]
    of_tree: list[Condition]

    def of_variables(self) -> list[list[Condition]]:
        """Return what each provider that serves the group has to meet: all of one list."""
        return [[*self.common, *part] for part in self.parts or [[]]]

    @property
    def classes(self) -> list[tuple[str, ...]]:
        """Return the classes that come from each of these providers."""
        names = sorted(self.group.resources)
        return [(name,) for name in names] if self.parts else [tuple(names)]


@dataclasses.dataclass(frozen=True, eq=False)
class ProviderPart:
    """What one provider has to give for a group: all of it, or one of its classes.

    :param conditions: those that the provider has to meet
    :param classes: the classes that it has to give
    """

    suffix: str
    group: GroupConditions
    conditions: Sequence[Condition]
    classes: tuple[str, ...]


class RequestConditions:
    """All conditions of a request that a provider or a root meets or not, made as they are needed.

    Its methods raise SearchEnded if a budget is used up.

    :ivar suffixes: of all groups, in an order of their own
    """

    def __init__(self, snapshot: Snapshot, request: CandidateRequest, budget: Budget) -> None:
        self._snapshot, self._request, self._budget = snapshot, request, budget
        self._groups = {group.suffix: group for group in request.groups}
        self._known: dict[object, GroupConditions] = {}
        self.suffixes = sorted(self._groups, key=in_order)

    @functools.cached_property
    def of_root(self) -> list[Condition]:
        """Return the conditions on roots."""
        snapshot, request, found = self._snapshot, self._request, []
        if request.avoid:
            passing = np.ones(snapshot.size, np.bool_)
            passing[snapshot.roots(request.avoid)] = False
            found.append(Condition(Reason.ROOT_REQUIRED, AVOID, passing, passing))
        for name in sorted(request.root_required):
            passing = _has(snapshot, [name])
            found.append(Condition(Reason.ROOT_REQUIRED, name, passing, passing))
        for name in sorted(request.root_forbidden):
            passing = ~_has(snapshot, [name])
            found.append(Condition(Reason.ROOT_REQUIRED, f"!{name}", passing, passing))
        return found

    def of_group(self, suffix: str) -> GroupConditions:
        """Return the conditions of a group; groups that ask for the same share an object."""
        group = self._groups[suffix]
        key = (
            bool(suffix),
            frozenset(group.resources.items()),
            frozenset(group.required),
            group.forbidden,
            frozenset(group.member_of),
            group.not_member_of,
            group.in_tree,
        )
        if key not in self._known:
            self._budget.spend(_MAKING + self._snapshot.size // _SLOTS_OF_STEP)
            made = self._known[key] = _of_group(self._snapshot, group)
            self._budget.keep(sum(one.size for part in made.of_variables() for one in part))
        return self._known[key]

    @functools.cached_property
    def variables(self) -> list[ProviderPart]:
        """Return what providers have to be chosen for."""
        return [
            ProviderPart(suffix, group, needed, classes)
            for suffix in self.suffixes
            for group in [self.of_group(suffix)]
            for needed, classes in zip(group.of_variables(), group.classes, strict=True)
        ]


def in_order(suffix: str) -> tuple[int, str]:
    """Return a key that sorts _2 before _10."""
    return len(suffix), suffix


@dataclasses.dataclass(frozen=True)
class Amounts:
    """An inventory beside an amount that was asked. `free` is below 0 where too much is used."""

    asked: int
    free: int
    total: int
    reserved: int
    used: int
    allocation_ratio: float
    min_unit: int
    max_unit: int
    step_size: int


@dataclasses.dataclass(frozen=True)
class Missing:
    """One condition that fails.

    :param slot: the provider that comes nearest to meeting it; None: it is about the whole tree
    :param shortfall: how much is lacking of what is asked, as a share of it
    :param of_tree: whether one of several providers has to meet it
    """

    group: str
    reason: Reason
    name: str
    slot: int | None = None
    asked: int | None = None
    amounts: Amounts | None = None
    shortfall: float = 1.0
    of_tree: bool = False


def listed(names: frozenset[str]) -> str:
    """Return a set of names as it stands in a query: the name alone, or `in:` and all of them."""
    return next(iter(names)) if len(names) == 1 else f"in:{','.join(sorted(names))}"


def _has(snapshot: Snapshot, names: Iterable[str]) -> Mask:
    ids = snapshot.names.trait_ids
    return snapshot.has_trait(ids[name] for name in names if name in ids)


def _of_group(snapshot: Snapshot, group: Group) -> GroupConditions:
    """Return the conditions of a group, in the order of their judgement."""
    amounts = [
        list(_of_amount(snapshot, name, amount)) for name, amount in sorted(group.resources.items())
    ]
    required = [
        Condition(Reason.TRAIT, name, mask := _has(snapshot, names), mask)
        for name, names in sorted((listed(names), names) for names in set(group.required))
    ]
    forbidden = [
        Condition(Reason.FORBIDDEN_TRAIT, name, mask := ~_has(snapshot, [name]), mask)
        for name in sorted(group.forbidden)
    ]
    members = list(_of_aggregates(snapshot, group))
    outside = list(_of_forbidden_aggregates(snapshot, group))
    tree = list(_of_tree(snapshot, group))
    if group.suffix:
        inventories = [one for part in amounts for one in part]
        if not (inventories or required or members):
            nobody = np.zeros(snapshot.size, np.bool_)
            inventories = [Condition(Reason.NO_INVENTORY, "", nobody, nobody)]
        common = [*inventories, *required, *forbidden, *members, *outside, *tree]
        return GroupConditions(group, _unknown_first(common), [], [])
    common = _unknown_first([*tree, *members, *outside, *forbidden])
    flat = not snapshot.forest.nested and not len(snapshot.sharing)
    if flat or len(amounts) == 1:
        return GroupConditions(group, [*common, *required], amounts, [])
    return GroupConditions(group, common, amounts, required)


def _unknown_first(conditions: list[Condition]) -> list[Condition]:
    return sorted(conditions, key=lambda one: one.reason is not Reason.UNKNOWN_NAME)


def _of_tree(snapshot: Snapshot, group: Group) -> Iterator[Condition]:
    if group.in_tree is None:
        return
    slot = snapshot.slot(group.in_tree)
    nobody = np.zeros(snapshot.size, np.bool_)
    if slot is None or not snapshot.forest.alive[slot]:
        yield Condition(Reason.UNKNOWN_NAME, group.in_tree, nobody, nobody)
    elif group.resources or not group.suffix:
        root = snapshot.forest.root
        within = root == root[slot]
        yield Condition(Reason.IN_TREE, group.in_tree, within, within if group.suffix else nobody)


def _of_aggregates(snapshot: Snapshot, group: Group) -> Iterator[Condition]:
    """Yield one condition for each set of aggregates.

    A provider has to be in an aggregate of every set. For the group without suffix, it is enough
    that the root of its tree is: then one of the two has to be in one of every set.
    """
    root = snapshot.forest.root
    spans = not group.suffix and snapshot.forest.nested
    everyone = np.ones(snapshot.size, np.bool_)
    one_by_one, all_of, names = everyone, everyone, []
    for name, uuids in sorted((listed(uuids), uuids) for uuids in set(group.member_of)):
        members = snapshot.is_member(snapshot.aggregates(uuids))
        reason = (
            Reason.AGGREGATE if (members & snapshot.forest.alive).any() else Reason.UNKNOWN_NAME
        )
        own = members[root] | members if spans else members
        one_by_one, all_of = one_by_one & own, all_of & members
        names.append(name)
        yield Condition(reason, name, own, members)
    if spans and len(names) > 1:
        one_for_all = all_of[root] | all_of | ~one_by_one
        yield Condition(
            Reason.AGGREGATE, BOTH.join(names), one_for_all, everyone, absent=~one_by_one
        )


def _of_forbidden_aggregates(snapshot: Snapshot, group: Group) -> Iterator[Condition]:
    for uuid in sorted(group.not_member_of):
        mask = ~snapshot.is_member(snapshot.aggregates([uuid]))
        yield Condition(
            Reason.FORBIDDEN_AGGREGATE, uuid, mask, mask, None if group.suffix else mask
        )


def _of_amount(snapshot: Snapshot, name: str, amount: int) -> Iterator[Condition]:
    """Yield the conditions of an amount: an inventory, room, min_unit, max_unit, step_size."""
    size = snapshot.size
    column = snapshot.column(snapshot.names.class_ids.get(name, -1))
    has_class = column.by_slot(np.ones(len(column.slots), np.bool_), size)
    is_shared = bool(has_class[snapshot.sharing].any())
    reason = Reason.NO_SHARING if is_shared else Reason.NO_INVENTORY
    yield Condition(reason, name, has_class, has_class, None, None, amount)
    absent = ~has_class
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
        mask = absent | column.by_slot(ok, size)
        short = column.by_slot(far, size)
        yield Condition(reason, name, mask, mask, None, short, amount, absent)


def _remainders(amount: int, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.array([amount % step for step in steps.tolist()], np.int64)
