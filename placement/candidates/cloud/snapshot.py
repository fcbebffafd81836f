"""A cloud as columns, the snapshot of the whole, and all of its trees (architecture.rst D4)."""

import abc
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from placement.candidates.cloud.columns import Column, Mask, Slots, empty_column
from placement.candidates.cloud.forest import Forest
from placement.candidates.cloud.full_start_memory import PastSearches
from placement.candidates.cloud.key_sets import Ids, KeySets, SlotSet
from placement.candidates.cloud.patched_array import Patched
from placement.candidates.cloud.prepared_texts import Listings, PreparedTexts
from placement.candidates.cloud.register import Register
from placement.candidates.slots import SearchedSlot, SearchedSlots, WholeSlot, WholeSlots
from placement.storage.feed.change_feed import Cursor

T = TypeVar("T")
#: the trait of providers that serve all trees of their aggregates
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"

#: in place of a generation
UNKNOWN = -1
#: bytes that the indexes by id and by uuid take for a provider: id and slot, hash and slot
_INDEXED = (8 + 4) + (4 + 4)
#: one number for each load
_LINEAGES = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Names:
    """Resource classes and traits by id and by name."""

    classes: Mapping[int, str]
    traits: Mapping[int, str]
    class_ids: Mapping[str, int]
    trait_ids: Mapping[str, int]

    @classmethod
    def of(cls, classes: Mapping[int, str], traits: Mapping[int, str]) -> "Names":
        """Build the names from names by id."""
        return cls(
            classes,
            traits,
            {name: key for key, name in classes.items()},
            {name: key for key, name in traits.items()},
        )


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class CloudColumns:
    """Providers as columns by slot. They never change, except that they remember results.

    A slot means something in these columns only. `Snapshot` has the columns of the whole cloud.
    `TreeSubset` has the columns of a few trees, in which the same provider has another slot.

    :param columns: inventories by resource class id
    :param aggregates_of: the ids of each provider's aggregates, by slot
    :param with_trait: the providers that have a trait, by trait id; unused traits are missing
    :param in_aggregate: likewise, by aggregate id
    :param memo: what `remembered` has computed; a change of usage keeps it
    """

    forest: Forest
    names: Names
    aggregate_ids: Mapping[str, int]
    columns: Mapping[int, Column]
    aggregates_of: KeySets
    with_trait: Mapping[int, SlotSet]
    in_aggregate: Mapping[int, SlotSet]
    memo: dict[object, Any] = dataclasses.field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return how many slots there are, those of deleted providers included."""
        return len(self.forest.parent)

    def column(self, class_id: int) -> Column:
        """Return the inventories of a class, which may be none."""
        return self.columns.get(class_id) or empty_column()

    def has_trait(self, trait_ids: Iterable[int]) -> Mask:
        """Return which providers have at least one of the traits."""
        return self._any_of(self.with_trait, trait_ids)

    def aggregates(self, uuids: Iterable[str]) -> Ids:
        """Return the ids of aggregates, ascending; aggregates that don't exist are left out."""
        return tuple(
            sorted(self.aggregate_ids[uuid] for uuid in uuids if uuid in self.aggregate_ids)
        )

    def is_member(self, aggregate_ids: Iterable[int]) -> Mask:
        """Return which providers are in at least one of the aggregates."""
        return self._any_of(self.in_aggregate, aggregate_ids)

    def _any_of(self, sets: Mapping[int, SlotSet], keys: Iterable[int]) -> Mask:
        mask: Mask | None = None
        for key in keys:
            found = sets.get(key)
            if found is not None:
                more = found.mask(self.size)
                mask = more if mask is None else mask | more
        return np.zeros(self.size, np.bool_) if mask is None else mask

    @property
    def sharing(self) -> Slots:
        """Return the providers that are shared (allocation-candidates.md 2.1)."""
        found = self.with_trait.get(self.names.trait_ids.get(SHARING_TRAIT, -1))
        if found is None:
            return np.zeros(0, np.int32)

        def there() -> Slots:
            # those that a what-if takes away keep their traits
            slots = found.slots()
            return slots[self.forest.alive[slots]]

        return self.remembered("sharing", there)

    def reached(self, own: Mask, shared: Mask) -> Mask:
        """Return the roots of the trees that some of the providers serve.

        A sharing provider serves every tree with any provider in one of its aggregates.

        :param own: providers that serve their own tree
        :param shared: providers that serve other trees, if they are sharing providers
        """
        roots = self.forest.roots_of(own) if self.forest.nested else own
        lending = self.sharing[shared[self.sharing]]
        aggregates = {key for slot in lending.tolist() for key in self.aggregates_of[slot]}
        if aggregates:
            roots = roots.copy()
        for aggregate_id in aggregates:
            roots[self.roots_of_aggregate(aggregate_id)] = True
        return roots

    def roots_of_aggregate(self, aggregate_id: int) -> Slots:
        """Return the roots of all trees with a provider in the aggregate, ascending."""
        return self._roots_of("aggregate", self.in_aggregate, aggregate_id)

    def roots_of_trait(self, trait_id: int) -> Slots:
        """Return the roots of all trees with a provider that has the trait, ascending."""
        return self._roots_of("trait", self.with_trait, trait_id)

    def _roots_of(self, kind: str, sets: Mapping[int, SlotSet], key: int) -> Slots:
        members = sets.get(key)
        if members is None:
            return np.zeros(0, np.int32)
        return self.remembered((kind, key), lambda: np.unique(self.forest.root[members.slots()]))

    def remembered(self, key: object, compute: Callable[[], T]) -> T:
        """Return what `compute` gives, computed once.

        :param compute: computes it from anything but usage
        """
        try:
            return self.memo[key]
        except KeyError:
            return self.memo.setdefault(key, compute())


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Snapshot(CloudColumns):
    """The cloud at one moment: the columns that a search reads, and all else that is kept by slot.

    :param generations: the providers' generations by slot, to notice writes that the change feed
        doesn't name; UNKNOWN of a provider whose usage alone was read since it was loaded
    :param traits_of: the ids of each provider's traits, by slot
    :param classes_of: the ids of the classes each provider has inventory of
    :param stray_usage: what is taken of (slot, class) that have no inventory
    :param texts: each provider's summary as JSON, where trees have several
    :param tree_texts: the summaries of a root's whole tree
    :param listings: how lists show each provider, as far as it was listed
    :param lineage: which load of the cloud it comes from: the same in all that changes make of it
    :param past_searches: where the next search begins; shared by all snapshots of the lineage
    :param cursor: how far in the change feed it is; None: not known
    """

    register: Register
    generations: Patched
    traits_of: KeySets
    classes_of: KeySets
    stray_usage: Mapping[tuple[int, int], int]
    texts: PreparedTexts
    tree_texts: PreparedTexts
    listings: Listings = dataclasses.field(default_factory=Listings)
    lineage: int = dataclasses.field(default_factory=lambda: next(_LINEAGES))
    past_searches: PastSearches = dataclasses.field(default_factory=PastSearches)
    cursor: Cursor | None = None

    @property
    def nbytes(self) -> int:
        """About how many bytes its arrays take; prepared texts are not counted."""
        forest, register = self.forest, self.register
        arrays = (forest.parent, forest.root, forest.alive, forest.order, forest.start)
        total = sum(array.nbytes for array in (*arrays, forest.count, forest.place))
        total += register.ids.nbytes + register.uuids.rows.nbytes + self.generations.nbytes
        key_sets = (self.traits_of, self.aggregates_of, self.classes_of)
        total += sum(sets.nbytes for sets in key_sets)
        total += sum(column.nbytes for column in self.columns.values())
        return total + self.size * _INDEXED

    def slot(self, uuid: str) -> WholeSlot | None:
        """Return the slot of a provider, or None if there is no such provider."""
        return self.register.slot_of_uuid.get(uuid)

    def roots(self, uuids: Iterable[str]) -> list[WholeSlot]:
        """Return the roots of the providers' trees, ascending; unknown providers are left out."""
        slots = (self.slot(uuid) for uuid in uuids)
        return sorted(
            {WholeSlot(self.forest.root[slot].item()) for slot in slots if slot is not None}
        )

    def used(self, class_id: int, slot: int) -> int:
        """Return how much of a provider's inventory of a class is used; 0 without an inventory."""
        column = self.column(class_id)
        there, at = column.find(np.array([slot]))
        return column.used_at(int(at[0])) if there[0] else 0

    def using(self, used: Mapping[int, Mapping[int, int]]) -> "Snapshot":
        """Return the cloud with other usage, for searches whose summaries aren't shown.

        :param used: usage by slot, by class id; slots without inventory of the class are left out
        """
        columns = dict(self.columns)
        for class_id, amounts in used.items():
            column = self.column(class_id)
            there, _ = column.find(np.fromiter(amounts, np.int32, len(amounts)))
            kept = {slot: amounts[slot] for slot, has in zip(amounts, there, strict=True) if has}
            if kept:
                columns[class_id] = column.with_usage(kept)
        return dataclasses.replace(self, columns=columns)


class SearchedTrees(abc.ABC):
    """The trees that a search looks at.

    :ivar cloud: their columns
    :ivar bound: the last root up to which these are all trees that may have candidates; None: there
        are no others behind them
    :ivar lacks_singles: whether trees of one provider that may have candidates are missing
    :ivar by_usage: whether other usage of other trees would have made these others
    """

    cloud: CloudColumns
    bound: WholeSlot | None
    lacks_singles: bool
    by_usage: bool

    @abc.abstractmethod
    def slot(self, uuid: str) -> SearchedSlot | None:
        """Return the slot of a provider in `cloud`; None if it isn't in any of the trees."""

    @abc.abstractmethod
    def in_whole(self, slots: SearchedSlots) -> WholeSlots:
        """Return the slots that some providers have in the whole cloud, in the same shape."""

    def roots(self, uuids: Iterable[str]) -> list[SearchedSlot]:
        """Return the roots of the providers' trees, ascending; unknown providers are left out."""
        slots = (self.slot(uuid) for uuid in uuids)
        found = {int(self.cloud.forest.root[slot]) for slot in slots if slot is not None}
        return [SearchedSlot(root) for root in sorted(found)]


class AllTrees(SearchedTrees):
    """All trees of a cloud: the search looks at the columns of the snapshot itself."""

    bound = None
    lacks_singles = by_usage = False

    def __init__(self, snapshot: Snapshot) -> None:
        self.cloud = self._whole = snapshot

    def slot(self, uuid: str) -> SearchedSlot | None:
        """Return the slot of a provider; None if there is no such provider."""
        slot = self._whole.slot(uuid)
        return None if slot is None else SearchedSlot(slot)

    def in_whole(self, slots: SearchedSlots) -> WholeSlots:
        """Return the same slots."""
        return WholeSlots(slots)
