"""Trees that a question names: whether they exist, and the cloud without them."""

import dataclasses
from collections.abc import Iterable

import numpy as np

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.slots import WholeSlot
from placement.domain.uuids import is_uuid_like, normalised
from placement.errors import BadRequest


def check_roots(snapshot: Snapshot, uuids: Iterable[str]) -> None:
    """Raise BadRequest if a provider doesn't exist, or is no root."""
    for uuid in uuids:
        slot = snapshot.slot(uuid)
        if slot is None:
            raise BadRequest(f"There is no resource provider {uuid}.")
        root = WholeSlot(int(snapshot.forest.root[slot]))
        if root != slot:
            raise BadRequest(
                f"Resource provider {uuid} is no root: it is in the tree of "
                f"{snapshot.register.uuids[root]}."
            )


def root_named(cloud: Snapshot, uuid: str, place: str) -> WholeSlot:
    """Return the slot of a root that a request names. Raises BadRequest, with the place."""
    slot = provider_named(cloud, uuid, place)
    if cloud.forest.root[slot] != slot:
        raise BadRequest(f"{place}: resource provider {uuid} is no root.")
    return slot


def provider_named(cloud: Snapshot, uuid: str, place: str) -> WholeSlot:
    """Return the slot of a provider that a request names. Raises BadRequest, with the place."""
    # the schema of a key knows its length and characters alone
    found = cloud.slot(normalised(uuid)) if is_uuid_like(uuid) else None
    if found is None:
        raise BadRequest(f"{place}: there is no resource provider {uuid}.")
    return found


def without(snapshot: Snapshot, roots: Iterable[int]) -> Snapshot:
    """Return the cloud as if some trees, with all their providers, had been deleted."""
    gone = np.zeros(snapshot.size, np.bool_)
    gone[list(roots)] = True
    forest = snapshot.forest
    there = dataclasses.replace(forest, alive=forest.alive & ~gone[forest.root])
    return dataclasses.replace(snapshot, forest=there, memo={})
