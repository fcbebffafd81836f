"""Who holds something of a tree, read as the planner comes to it.

What is read is newer than the cloud. A tree where somebody wrote meanwhile is left out.
"""

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from placement.candidates.budget import OutOfMemory
from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.domain.consumer import UNKNOWN_TYPE
from placement.extensions.evacuation.movers import SlotClass, Taken, TreeDemand, demand_of
from placement.extensions.plans.terms import Terms
from placement.extensions.plans.written import written
from placement.storage import holdings, movable_amounts
from placement.storage.database.engine import Connection, Database
from placement.storage.holdings import HeldRow

#: how many allocations are kept at most
_MOST_ROWS = 500_000
#: of how many consumers of a shared provider it is tried whether they should move
_OF_POOL = 20


@dataclasses.dataclass(frozen=True, eq=False)
class Occupant:
    """A consumer, and what it holds.

    :param type_name: `unknown` if it has none
    :param homes: the slots of the roots of the trees that it is on: sharing providers don't count,
        unless it holds nothing else
    :param movable: whether it may move
    :param kind: what is equal for two that may stand in for each other
    :param asks: returns what it asks for elsewhere
    """

    uuid: str
    type_name: str
    project: str
    homes: frozenset[int]
    held: Taken
    movable: bool
    kind: object
    asks: Callable[[], TreeDemand]

    @functools.cached_property
    def demand(self) -> TreeDemand:
        """What it asks for elsewhere"""
        return self.asks()

    @functools.cached_property
    def request(self) -> CandidateRequest:
        """The request for it"""
        return self.demand.request(frozenset())


class Occupants:
    """The consumers of a cloud, as far as they were read.

    :param stored: the cloud as the database has it; `cloud` may be changed
    :param freed: uuids of consumers that count as if they held nothing
    """

    def __init__(
        self,
        database: Database,
        cloud: Snapshot,
        stored: Snapshot,
        terms: Terms,
        freed: Collection[str],
    ) -> None:
        self.stored = stored
        self._database, self._cloud, self._terms, self._freed = database, cloud, terms, freed
        self._sharing = frozenset(cloud.sharing.tolist())
        self._known: dict[str, Occupant] = {}
        self._slots: dict[str, int | None] = {}
        #: by root, the consumers on its tree
        self._of_root: dict[int, list[Occupant]] = {}
        self._of_pool: dict[int, list[Occupant]] = {}
        self._rows = 0
        #: whether all that was asked for is known, and nobody wrote meanwhile
        self.complete = True
        named = terms.constraints.named | (terms.movable.only or frozenset())
        self.named = {one.uuid: one for one in self.of_consumers(sorted(named.difference(freed)))}

    def of_consumers(self, uuids: Sequence[str]) -> list[Occupant]:
        """Return consumers by their uuids; those that hold nothing are missing."""
        missing = [uuid for uuid in uuids if uuid not in self._known]
        if missing:
            self._read(lambda connection: list(holdings.of_consumers(connection, missing)))
        return [self._known[uuid] for uuid in uuids if uuid in self._known]

    def of_trees(self, roots: Iterable[int]) -> dict[int, list[Occupant]]:
        """Return those that may move away from some trees, by root."""
        wanted = list(roots)
        missing = [root for root in wanted if root not in self._of_root]
        if missing:
            ids = self._cloud.register.ids[missing].tolist()
            found = self._read(lambda connection: list(holdings.of_trees(connection, ids)))
            self._sort(missing, found)
        return {root: self._of_root[root] for root in wanted}

    def _sort(self, roots: list[int], holders: Sequence[Occupant]) -> None:
        forest = self._cloud.forest
        members = np.sort(np.concatenate([forest.members(root) for root in roots]))
        newer = {int(forest.root[slot]) for slot in self._written(members, holders)}
        wanted = frozenset(roots) - newer
        self.complete = self.complete and not newer
        self._of_root.update((root, []) for root in roots)
        for one in holders:
            for home in one.homes & wanted:
                if one.movable:
                    self._of_root[home].append(one)

    def _written(self, slots: Slots, holders: Iterable[Occupant]) -> set[int]:
        """Return the slots of those providers where somebody wrote after the cloud was read.

        :param slots: of these providers, ascending
        :param holders: all that hold anything of them now
        """
        by_class: dict[int, list[tuple[int, int]]] = {key: [] for key in self.stored.columns}
        for one in holders:
            for (slot, class_id), amount in one.held.items():
                by_class.setdefault(class_id, []).append((slot, amount))
        known = slots[slots < self.stored.size]
        found: set[int] = set()
        for class_id, pairs in by_class.items():
            held = np.array(pairs, np.int64).reshape(-1, 2)
            found.update(written(self.stored, known, class_id, held[:, 0], held[:, 1]).tolist())
        return found

    def of_pool(self, slot: int) -> list[Occupant]:
        """Return those that hold most of a sharing provider, and may move."""
        if slot not in self._of_pool:
            provider_id = int(self._cloud.register.ids[slot])
            uuids = self._database.read(
                lambda connection: movable_amounts.largest_holders(
                    connection, [provider_id], _OF_POOL + 1
                )
            )
            found = self.of_consumers(uuids[:_OF_POOL])
            whole = len(uuids) <= _OF_POOL
            whole = whole and not self._written(np.array([slot], np.int32), found)
            self.complete = self.complete and whole
            self._of_pool[slot] = [one for one in found if one.movable]
        return self._of_pool[slot]

    def _read(self, question: Callable[[Connection], list[HeldRow]]) -> list[Occupant]:
        by_consumer: dict[str, list[HeldRow]] = {}
        for row in self._database.read(question):
            by_consumer.setdefault(row.consumer, []).append(row)
            self._rows += 1
        if self._rows > _MOST_ROWS:
            raise OutOfMemory
        found = []
        for uuid, rows in by_consumer.items():
            if uuid not in self._known:
                self._known[uuid] = self._holder(uuid, rows)
            found.append(self._known[uuid])
        return found

    def _holder(self, uuid: str, rows: Sequence[HeldRow]) -> Occupant:
        cloud, first = self._cloud, rows[0]
        ids, root_of = cloud.names.class_ids, cloud.forest.root
        held: dict[SlotClass, int] = {}
        for row in rows:
            slot = self._slot(row.provider_uuid)
            if slot is not None and row.resource_class in ids:
                held[slot, ids[row.resource_class]] = row.used
        own = {slot for slot, _ in held if slot not in self._sharing} or {slot for slot, _ in held}
        homes = frozenset(int(root_of[slot]) for slot in own)
        # who holds something that the cloud doesn't have yet is newer than it; what is on a tree
        # that is gone in a changed cloud stays where it is
        whole = len(held) == len(rows) and bool(homes)
        whole = whole and all(cloud.forest.alive[home] for home in homes)
        whole = whole and uuid not in self._freed
        movable = whole and self._terms.movable.allows(uuid, first.type_name, len(homes))
        asked = self._terms.requests.get(uuid)
        kind: object = tuple(held.items()) if asked is None else uuid

        def asks() -> TreeDemand:
            classes = cloud.names.classes
            placed = [(slot, classes[key], amount) for (slot, key), amount in held.items()]
            return demand_of(cloud, placed, homes, self._sharing, asked).parts[0]

        type_name = first.type_name or UNKNOWN_TYPE
        return Occupant(uuid, type_name, first.project, homes, held, movable, kind, asks)

    def _slot(self, uuid: str) -> int | None:
        if uuid not in self._slots:
            self._slots[uuid] = self._cloud.slot(uuid)
        return self._slots[uuid]

    def places(self, about: Iterable[str], moved: Mapping[str, int | None]) -> dict[str, list[str]]:
        """Return the uuids of the roots that consumers are on; those that hold nothing are missing.

        :param about: uuids of some that constraints name
        :param moved: the slot of the root that each of those that moved is on; None: not known yet
        """
        uuids, found = self._cloud.register.uuids, {}
        for uuid in self.named.keys() & about:
            one, to = self.named[uuid], moved.get(uuid, -1)
            slots = one.homes if to == -1 else frozenset() if to is None else frozenset([to])
            found[uuid] = [uuids[slot] for slot in sorted(slots)]  # type: ignore[index]
        return found
