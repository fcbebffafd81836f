"""The providers that pass the filter of a list (rest-api.md 3.1), as the snapshot has them."""

from collections.abc import Iterator

import numpy as np

from placement.candidates.cloud.columns import Mask, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.domain.capacity import MAX_AMOUNT
from placement.domain.provider_filter import ProviderFilter


def matching(snapshot: Snapshot, wanted: ProviderFilter) -> Slots | None:
    """Return the providers that pass, ascending.

    Returns None if the filter says something that only the database can judge: names of providers,
    and names and uuids that the snapshot doesn't have just so. Whether such a name is an error, and
    whether the database takes it for another name, depends on the database.
    """
    if not _is_known(snapshot, wanted):
        return None
    if wanted.uuid is not None:
        mask = np.zeros(snapshot.size, np.bool_)
        mask[snapshot.slot(wanted.uuid)] = True
    else:
        mask = snapshot.forest.alive.copy()
    for condition in _conditions(snapshot, wanted):
        mask &= condition
    return np.flatnonzero(mask).astype(np.int32)


def _is_known(snapshot: Snapshot, wanted: ProviderFilter) -> bool:
    """Say whether the snapshot knows all that the filter names."""
    if wanted.name is not None or wanted.uuids is not None:
        return False
    names = snapshot.names
    return (
        all(
            snapshot.register.slot_of_uuid.get(uuid) is not None
            for uuid in (wanted.uuid, wanted.in_tree)
            if uuid is not None
        )
        and wanted.forbidden.union(*wanted.required) <= names.trait_ids.keys()
        and wanted.not_member_of.union(*wanted.member_of) <= snapshot.aggregate_ids.keys()
        and wanted.resources.keys() <= names.class_ids.keys()
        and all(amount <= MAX_AMOUNT for amount in wanted.resources.values())
    )


def _conditions(snapshot: Snapshot, wanted: ProviderFilter) -> Iterator[Mask]:
    """Yield the providers that meet each condition."""
    trait_ids, class_ids = snapshot.names.trait_ids, snapshot.names.class_ids
    if wanted.in_tree is not None:
        root = snapshot.forest.root
        yield root == root[snapshot.register.slot_of_uuid[wanted.in_tree]]
    for names in wanted.required:
        yield snapshot.has_trait(trait_ids[name] for name in names)
    if wanted.forbidden:
        yield ~snapshot.has_trait(trait_ids[name] for name in wanted.forbidden)
    for uuids in wanted.member_of:
        yield snapshot.is_member(snapshot.aggregates(uuids))
    if wanted.not_member_of:
        yield ~snapshot.is_member(snapshot.aggregates(wanted.not_member_of))
    for name, amount in wanted.resources.items():
        yield snapshot.column(class_ids[name]).fits(amount, snapshot.size)
