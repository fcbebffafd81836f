"""Who holds something of hosts that may be lost, and who of them may move."""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from placement.candidates.cloud.snapshot import Snapshot
from placement.domain.consumer import UNKNOWN_TYPE
from placement.extensions.evacuation.movers import Rows
from placement.extensions.plans.terms import Movable
from placement.storage.holdings import HeldRow


@dataclasses.dataclass(frozen=True)
class HostHolder:
    """A consumer, and all that it holds.

    :param trees: the slots of the roots of the trees that it is on, those of sharing providers
        aside
    :param roots: the same with those of sharing providers
    :param fixed: why it may not move; empty: it may
    """

    consumer: str
    rows: Rows
    trees: frozenset[int]
    roots: frozenset[int]
    fixed: str = ""

    @property
    def resources(self) -> Mapping[str, int]:
        """The sum of each class"""
        found: collections.Counter[str] = collections.Counter()
        for _, name, amount in self.rows:
            found[name] += amount
        return dict(sorted(found.items()))


class Holders:
    """The holders of a cloud, as far as they were read, by the trees that they are on."""

    def __init__(self, cloud: Snapshot, held: Iterable[HeldRow], movable: Movable) -> None:
        self._root_of: Sequence[int] = cloud.forest.root.tolist()
        self._alive = cloud.forest.alive
        self._movable = movable
        self.sharing = frozenset(cloud.sharing.tolist())
        self.known: dict[str, HostHolder] = {}
        self._of: dict[int, list[HostHolder]] = collections.defaultdict(list)
        known_classes, classes = cloud.names.class_ids, dict[str, str]()
        slots: dict[str, int | None] = {}
        rows: dict[str, list[tuple[int, str, int]]] = collections.defaultdict(list)
        types: dict[str, str | None] = {}
        for row in held:
            if row.provider_uuid not in slots:
                slots[row.provider_uuid] = cloud.slot(row.provider_uuid)
            slot = slots[row.provider_uuid]
            # what others created meanwhile isn't in the cloud yet
            if slot is not None and row.resource_class in known_classes:
                name = classes.setdefault(row.resource_class, row.resource_class)
                rows[row.consumer].append((slot, name, row.used))
                types[row.consumer] = row.type_name
        for consumer in sorted(rows):
            holder = self._holder(consumer, tuple(rows.pop(consumer)), types[consumer])
            self.known[consumer] = holder
            for root in holder.roots:
                self._of[root].append(holder)

    def on(self, roots: Iterable[int]) -> list[HostHolder]:
        """Return those that hold anything of some trees, by uuid."""
        found = {one.consumer: one for root in roots for one in self._of.get(root, ())}
        return [found[consumer] for consumer in sorted(found)]

    def _holder(self, consumer: str, rows: Rows, type_name: str | None) -> HostHolder:
        root_of, sharing = self._root_of, self.sharing
        trees = frozenset(root_of[slot] for slot, _, _ in rows if slot not in sharing)
        fixed = ""
        if not self._movable.allows(consumer, type_name, len(trees)):
            fixed = self._why_fixed(consumer, type_name or UNKNOWN_TYPE, trees)
        return HostHolder(consumer, rows, trees, frozenset(root_of[row[0]] for row in rows), fixed)

    def _why_fixed(self, consumer: str, type_name: str, trees: frozenset[int]) -> str:
        if len(trees) > 1:
            if not all(self._alive[root] for root in trees):
                return "it may not move: it holds something of a tree that is gone"
            return f"it may not move: it holds something of {len(trees)} hosts, as during a move"
        if type_name not in self._movable.types:
            return f"it may not move: its type is {type_name}"
        if consumer in self._movable.but:
            return "it may not move: movable.except names it"
        return "it may not move: movable.only doesn't name it"
