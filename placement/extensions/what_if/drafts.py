"""What some providers would have: copied from a snapshot, then changed (extensions.rst)."""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live.apply_changes import ChangedProviders, with_providers
from placement.errors import BadRequest

#: total, reserved, min_unit, max_unit, step_size, allocation_ratio
Stock = tuple[int, int, int, int, int, float]


@dataclasses.dataclass
class Draft:
    """What one provider would have.

    :param key: its id in the snapshot; providers that don't exist have ids above all others
    :param parent: the id of its parent; None: it is a root
    :param root: the id of its root
    :param stocks: by class id
    :param used: amounts by class id
    :param traits: ids
    :param aggregates: ids
    """

    key: int
    uuid: str
    parent: int | None
    root: int
    generation: int
    stocks: dict[int, Stock]
    used: dict[int, int]
    traits: set[int]
    aggregates: set[int]


class Drafts:
    """Providers of a cloud that are to be changed or added.

    :param most: how many may be changed
    """

    def __init__(self, cloud: Snapshot, most: int) -> None:
        self._cloud, self._most = cloud, most
        self._drafts: dict[int, Draft] = {}
        self._new_ids = itertools.count(int(cloud.register.ids.max(initial=0)) + 1)
        #: ids of aggregates that nobody is in yet, by uuid
        self._aggregates: dict[str, int] = {}

    def of(self, slots: Sequence[int]) -> list[Draft]:
        """Return the drafts of some providers, by their slots.

        Raises BadRequest if they are too many: each costs about 20 microseconds.
        """
        missing = [slot for slot in slots if slot not in self._drafts]
        if len(self._drafts) + len(missing) > self._most:
            raise BadRequest(f"if: at most {self._most} providers can be changed.")
        if missing:
            self._drafts |= self._copied(np.array(missing, np.int32))
        return [self._drafts[slot] for slot in slots]

    def aggregate_ids(self, uuids: Iterable[str]) -> set[int]:
        """Return the ids of aggregates, which need not exist."""
        known, new = self._cloud.aggregate_ids, self._aggregates
        first = max(known.values(), default=0) + 1
        return {
            known[uuid] if uuid in known else new.setdefault(uuid, first + len(new))
            for uuid in uuids
        }

    def add_tree(self, slots: Sequence[int], uuids: Sequence[str], empty: bool) -> None:
        """Add a copy of a tree.

        :param slots: its providers, the root first
        :param uuids: of the new providers, in the same order
        :param empty: whether nothing is allocated of them
        """
        old = self.of(slots)
        keys = {each.key: next(self._new_ids) for each in old}
        for each, uuid in zip(old, uuids, strict=True):
            key = keys[each.key]
            self._drafts[-key] = dataclasses.replace(
                each,
                key=key,
                uuid=uuid,
                parent=None if each.parent is None else keys[each.parent],
                root=keys[each.root],
                generation=0,
                used={} if empty else each.used,
            )

    def cloud(self) -> Snapshot:
        """Return the cloud with all drafts in place of what the providers have."""
        drafts = sorted(self._drafts.values(), key=lambda each: each.key)
        if not drafts:
            return self._cloud
        now = ChangedProviders(
            {
                each.key: (each.key, each.uuid, each.parent, each.root, each.generation)
                for each in drafts
            },
            {each.key: dict(each.stocks) for each in drafts},
            {each.key: dict(each.used) for each in drafts},
            {each.key: tuple(sorted(each.traits)) for each in drafts},
            {each.key: tuple(sorted(each.aggregates)) for each in drafts},
        )
        # of an aggregate that nobody is in any more the cloud knows the uuid
        uuids = {key: uuid for uuid, key in self._aggregates.items()}
        return with_providers(
            dataclasses.replace(self._cloud, memo={}),
            now,
            [each.key for each in drafts],
            lambda keys: {key: uuids[key] for key in keys if key in uuids},
        )

    def _copied(self, slots: np.ndarray) -> dict[int, Draft]:
        cloud, forest = self._cloud, self._cloud.forest
        ids, parents = cloud.register.ids, forest.parent[slots].tolist()
        stocks, used = self._stocks(slots)
        generations = cloud.generations.take(slots).tolist()
        rows = zip(
            slots.tolist(),
            parents,
            forest.root[slots].tolist(),
            generations,
            cloud.traits_of.take(slots),
            cloud.aggregates_of.take(slots),
            strict=True,
        )
        return {
            slot: Draft(
                int(ids[slot]),
                cloud.register.uuids[slot],
                None if parent < 0 else int(ids[parent]),
                int(ids[root]),
                generation,
                stocks[slot],
                used[slot],
                set(traits),
                set(aggregates),
            )
            for slot, parent, root, generation, traits, aggregates in rows
        }

    def _stocks(
        self, slots: np.ndarray
    ) -> tuple[Mapping[int, dict[int, Stock]], Mapping[int, dict[int, int]]]:
        """Return inventories and usage by class id, by slot."""
        cloud = self._cloud
        stocks: dict[int, dict[int, Stock]] = collections.defaultdict(dict)
        used: dict[int, dict[int, int]] = collections.defaultdict(dict)
        for class_id, column in cloud.columns.items():
            there, at = column.find(slots)
            at = at[there]
            kinds = column.kinds[at]
            fields = [field[kinds].tolist() for field in column.stocks.fields]
            taken = column.usage.take(at).tolist()
            for slot, amount, *stock in zip(slots[there].tolist(), taken, *fields, strict=True):
                stocks[slot][class_id] = tuple(stock)
                used[slot][class_id] = int(amount)
        among = set(slots.tolist())
        for (slot, class_id), amount in cloud.stray_usage.items():
            if slot in among:
                used[slot][class_id] = amount
        return stocks, used
