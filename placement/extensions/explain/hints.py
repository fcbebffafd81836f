"""What helps to understand one reason: who has what is asked for, and why that is of no use."""

import dataclasses
import difflib
from collections.abc import Callable, Sequence

import numpy as np

from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.free_amounts import free_amount
from placement.candidates.cloud.snapshot import SHARING_TRAIT, Snapshot
from placement.extensions.explain.conditions import Reason, RequestConditions
from placement.extensions.explain.conflicts import TreeConflict
from placement.extensions.explain.nearest import Miss

#: for how many conflicts hints are looked for
_MOST_HINTS = 6
#: how many providers, or groups, a hint names
_MOST = 3
#: how many providers a group may have that it is said to fit on "only"
_FEW = 2
#: how many providers are looked at for one that could be shared
_MOST_POOLS = 100
#: classes that no host lends to others
OF_HOSTS = frozenset(["VCPU", "PCPU", "MEMORY_MB"])
#: how alike a name must be that may be meant
_ALIKE = 0.9


@dataclasses.dataclass(frozen=True)
class Hint:
    """A hint.

    :param slots: the providers that it names
    :param text: the hint with a place for each of their names, such as `{0}`
    """

    slots: tuple[int, ...]
    text: str

    def told(self, name_of: Callable[[int], str]) -> str:
        """Return the hint with names."""
        return self.text.format(*map(name_of, self.slots))


def hints_of(
    snapshot: Snapshot,
    conditions: RequestConditions,
    conflicts: Sequence[TreeConflict],
    nearest: Sequence[Miss],
) -> list[Hint | None]:
    """Return a hint for each conflict of many trees, if there is one; None for the others.

    :param nearest: the trees that come nearest to having a candidate
    """
    trees = [-int(one.roots.sum()) for one in conflicts]
    found: list[Hint | None] = [None] * len(conflicts)
    for number in sorted(range(len(conflicts)), key=trees.__getitem__)[:_MOST_HINTS]:
        found[number] = _hint_of(snapshot, conditions, conflicts[number], nearest)
    return found


def _hint_of(
    snapshot: Snapshot,
    conditions: RequestConditions,
    conflict: TreeConflict,
    nearest: Sequence[Miss],
) -> Hint | None:
    """Return a hint for the trees with a conflict; None: there is none."""
    blamed = conflict.blamed
    if len(conflict.conditions) == 1:
        if blamed.reason is Reason.TRAIT and not blamed.own.any():
            return _unused(snapshot, blamed.name)
        if blamed.reason in (Reason.NO_INVENTORY, Reason.NO_SHARING) and blamed.name:
            return _lone_pool(snapshot, conflict, blamed.name)
        return None
    root = next((miss.root for miss in nearest if conflict.roots[miss.root]), None)
    if root is None:
        return None
    members = snapshot.forest.members(root).tolist()
    hint = None
    if not conflict.joint:
        short = [one.name for one in conflict.conditions if one.reason is Reason.CAPACITY]
        hint = _fragments(snapshot, short, members) if len(short) > 1 else None
    else:
        suffixes = [one.name for one in conflict.conditions if one.reason is Reason.TOGETHER]
        if len(suffixes) <= _MOST:
            hint = _only_on(conditions, suffixes, members, snapshot.sharing)
    if hint is None:
        return None
    # it is true of one tree
    nearest_of_many = "nearest: " if conflict.roots.sum() > 1 else ""
    return dataclasses.replace(hint, text=f" ({nearest_of_many}{hint.text})")


def _unused(snapshot: Snapshot, name: str) -> Hint:
    """Say that no provider has a trait, and which traits may be meant."""
    used = [known for key, known in snapshot.names.traits.items() if key in snapshot.with_trait]
    alike = difflib.get_close_matches(name, used, 1, _ALIKE)
    meant = f" (some have {alike[0]})" if alike else ""
    return Hint((), f", which no provider has{meant}")


def _lone_pool(snapshot: Snapshot, conflict: TreeConflict, name: str) -> Hint | None:
    """Name a provider with nothing but the class that could be shared with one of the trees."""
    if name in OF_HOSTS:
        return None
    column = snapshot.column(snapshot.names.class_ids.get(name, -1))
    classes = np.zeros(snapshot.size, np.int64)
    for other in snapshot.columns.values():
        classes[other.slots] += 1
    classes[snapshot.sharing] = 0
    slots = column.slots
    alone = slots[(snapshot.forest.count[slots] == 1) & (classes[slots] == 1)]
    for slot in alone[:_MOST_POOLS].tolist():
        for key in snapshot.aggregates_of[slot]:
            if conflict.roots[snapshot.roots_of_aggregate(key)].any():
                return Hint((slot,), f" ({{0}} has it, without {SHARING_TRAIT})")
    return None


def _fragments(snapshot: Snapshot, classes: Sequence[str], members: Sequence[int]) -> Hint | None:
    """Say what single providers have free of classes that one of them must have all of."""
    ids = snapshot.names.class_ids
    columns = [(name, snapshot.column(ids[name])) for name in classes]
    there = [column.find(np.array(members)) for _, column in columns]
    found = []
    for number, slot in enumerate(members):
        amounts = [
            f"{name} {free_amount(column.stock(at[number]), column.used_at(int(at[number])))}"
            for (name, column), (has, at) in zip(columns, there, strict=True)
            if has[number]
        ]
        if amounts:
            found.append((slot, " and ".join(amounts)))
    some = [f"{{{number}}} has {text}" for number, (_, text) in enumerate(found[:_MOST])]
    some += [f"{len(found) - _MOST} more"] if len(found) > _MOST else []
    return Hint(tuple(slot for slot, _ in found[:_MOST]), ", ".join(some))


def _only_on(
    conditions: RequestConditions,
    suffixes: Sequence[str],
    members: Sequence[int],
    sharing: Slots,
) -> Hint | None:
    """Say which groups fit on few providers of a tree only."""
    fitting: dict[tuple[int, ...], list[str]] = {}
    for suffix in suffixes:
        for part in conditions.of_group(suffix).of_variables():
            if np.logical_and.reduce([~one.unmet(True)[sharing] for one in part]).any():
                # what is lent counts for other trees, too
                continue
            unmet = np.logical_or.reduce([condition.unmet() for condition in part])
            slots = tuple(slot for slot in members if not unmet[slot])
            if suffix and 0 < len(slots) <= _FEW:
                fitting.setdefault(slots, []).append(suffix)
    texts, named = [], 0
    for slots, alike in fitting.items():
        names = " and ".join(f"{{{named + number}}}" for number in range(len(slots)))
        verb = "fits" if len(alike) == 1 else "fit"
        texts.append(f"{' and '.join(alike)} {verb} {names} only")
        named += len(slots)
    if not texts:
        return None
    return Hint(tuple(slot for slots in fitting for slot in slots), ", ".join(texts))
