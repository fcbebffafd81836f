"""The providers that pass the filter of a list (rest-api.md 3.1), as the snapshot has them."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from placement.candidates.cloud.columns import Mask, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.domain.capacity import MAX_AMOUNT
from placement.domain.provider_filter import ProviderFilter

Sets = tuple[frozenset[str], ...]


def matching(snapshot: Snapshot, wanted: ProviderFilter) -> Slots | None:
    """Return the providers that pass, ascending.

    Returns None if the filter says something that only the database can judge: a part that isn't in
    `_MASKS`, such as names of providers; and names and uuids that the snapshot doesn't have just
    so. Whether such a name is an error, and whether the database takes it for another name, depends
    on the database.
    """
    given = wanted.given
    if not given.keys() <= _MASKS.keys():
        return None
    mask = snapshot.forest.alive.copy()
    for part, value in given.items():
        masks = _MASKS[part](snapshot, value)
        if masks is None:
            return None
        for each in masks:
            mask &= each
    return np.flatnonzero(mask).astype(np.int32)


#: the providers that meet each condition of a part; None: the snapshot doesn't have what it names
_Masks = Iterable[Mask] | None


def _is(snapshot: Snapshot, uuid: str) -> _Masks:
    slot = snapshot.register.slot_of_uuid.get(uuid)
    if slot is None:
        return None
    mask = np.zeros(snapshot.size, np.bool_)
    mask[slot] = True
    return [mask]


def _in_tree(snapshot: Snapshot, uuid: str) -> _Masks:
    slot = snapshot.register.slot_of_uuid.get(uuid)
    if slot is None:
        return None
    root = snapshot.forest.root
    return [root == root[slot]]


def _required(snapshot: Snapshot, sets: Sets) -> _Masks:
    ids = snapshot.names.trait_ids
    if not frozenset().union(*sets) <= ids.keys():
        return None
    return (snapshot.has_trait(ids[name] for name in names) for names in sets)


def _forbidden(snapshot: Snapshot, names: frozenset[str]) -> _Masks:
    having = _required(snapshot, (names,))
    return None if having is None else (~mask for mask in having)


def _member_of(snapshot: Snapshot, sets: Sets) -> _Masks:
    if not frozenset().union(*sets) <= snapshot.aggregate_ids.keys():
        return None
    return (snapshot.is_member(snapshot.aggregates(uuids)) for uuids in sets)


def _not_member_of(snapshot: Snapshot, uuids: frozenset[str]) -> _Masks:
    members = _member_of(snapshot, (uuids,))
    return None if members is None else (~mask for mask in members)


def _resources(snapshot: Snapshot, amounts: dict[str, int]) -> _Masks:
    ids = snapshot.names.class_ids
    if not amounts.keys() <= ids.keys() or max(amounts.values()) > MAX_AMOUNT:
        return None
    return (snapshot.column(ids[name]).fits(amounts[name], snapshot.size) for name in amounts)


_MASKS: dict[str, Callable[[Snapshot, Any], _Masks]] = {
    "uuid": _is,
    "in_tree": _in_tree,
    "required": _required,
    "forbidden": _forbidden,
    "member_of": _member_of,
    "not_member_of": _not_member_of,
    "resources": _resources,
}
