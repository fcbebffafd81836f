"""Check that uuids are those of roots."""

from collections.abc import Iterable

from placement.candidates.cloud.snapshot import Snapshot
from placement.errors import BadRequest, UnknownProviderNamed


def check_roots(snapshot: Snapshot, uuids: Iterable[str]) -> None:
    """Raise UnknownProviderNamed, or BadRequest for a provider that is no root."""
    for uuid in uuids:
        slot = snapshot.slot(uuid)
        if slot is None:
            raise UnknownProviderNamed(uuid=uuid)
        root = int(snapshot.forest.root[slot])
        if root != slot:
            raise BadRequest(
                f"Resource provider {uuid} is no root: it is in the tree of "
                f"{snapshot.register.uuids[root]}."
            )
