"""The columns that a search reads: of the whole cloud, or of a few of its trees."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from placement.candidates.cloud.columns import Column, Mask, Slots, SlotSet, empty_column
from placement.candidates.cloud.forest import Forest
from placement.candidates.cloud.key_sets import Ids, KeySets

#: the trait of providers that serve all trees of their aggregates
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"


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
    :param memo: what `remembered` has computed
    """

    forest: Forest
    names: Names
    aggregate_ids: Mapping[str, int]
    columns: Mapping[int, Column]
    aggregates_of: KeySets
    with_trait: Mapping[int, SlotSet]
    in_aggregate: Mapping[int, SlotSet]
    memo: dict[Any, Any] = dataclasses.field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return how many slots there are, those of deleted providers included."""
        return self.forest.size

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
        trait_id = self.names.trait_ids.get(SHARING_TRAIT, -1)
        found = self.with_trait.get(trait_id)
        return np.zeros(0, np.int32) if found is None else self.remembered("sharing", found.slots)

    def roots_of_aggregate(self, aggregate_id: int) -> Slots:
        """Return the roots of all trees with a provider in the aggregate."""
        members = self.in_aggregate[aggregate_id]
        return self.remembered(
            ("roots", aggregate_id), lambda: np.unique(self.forest.root[members.slots()])
        )

    def remembered(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what `compute` gives, computed once for these columns."""
        try:
            return self.memo[key]
        except KeyError:
            return self.memo.setdefault(key, compute())
