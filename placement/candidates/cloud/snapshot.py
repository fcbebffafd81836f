"""The columnar view of the cloud that searches work on (architecture.rst D4)."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from placement.candidates.cloud.cloud_columns import CloudColumns
from placement.candidates.cloud.full_start_memory import PastSearches
from placement.candidates.cloud.key_sets import KeySets
from placement.candidates.cloud.patched_array import Patched
from placement.candidates.cloud.prepared_texts import PreparedTexts
from placement.candidates.cloud.provider_listings import Listings
from placement.candidates.cloud.register import Register
from placement.candidates.slots import WholeSlot
from placement.storage.feed.change_feed import Cursor

#: in place of a generation
UNKNOWN = -1
#: bytes that the indexes by id and by uuid take for a provider: id and slot, hash and slot
_INDEXED = (8 + 4) + (4 + 4)
#: one number for each load
_LINEAGES = itertools.count(1)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Snapshot(CloudColumns):
    """The cloud at one moment: the columns of a search, and all else that is kept by slot.

    :param generations: the providers' generations by slot, to notice writes that the change feed
        doesn't name; UNKNOWN of a provider whose usage alone was read since it was loaded
    :param traits_of: the ids of each provider's traits, by slot
    :param classes_of: the ids of the classes each provider has inventory of
    :param stray_usage: what is taken of (slot, class) that have no inventory
    :param texts: each provider's summary as JSON, where trees have several
    :param tree_texts: the summaries of a root's whole tree
    :param listings: what lists say of each provider, as far as it was wanted
    :param lineage: which load of the cloud it comes from: the same in all that changes make of it
    :param past_searches: what searches remember; shared by all snapshots of the lineage
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
        """Return what is taken of a provider's inventory of a class; 0 without an inventory."""
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
