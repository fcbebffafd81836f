"""The record of an allocation that a tracker writes itself (compute.md §4.10)."""

from dataclasses import dataclass


@dataclass
class OwnAllocation:
    """Says that a node's tracker, not the scheduler, writes a consumer's allocations there.

    The record exists from before the first write until the allocations are removed. So the tracker
    knows what to remove even after a restart, or after placement was unreachable. Further records
    of the same consumer name one class each: their `node_uuid` is the node's, a space, the class.
    """

    consumer_uuid: str
    node_uuid: str
    id: int | None = None
