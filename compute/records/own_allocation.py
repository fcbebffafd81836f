"""What a tracker wrote in placement itself, as the cell database keeps it (compute.md §4.10)."""

from dataclasses import dataclass


@dataclass
class OwnAllocation:
    """That the tracker of a node, and not the scheduler, allocates what a consumer holds there.

    Kept from before the first write until nothing is left: whatever comes in between – a restart,
    a placement that is away – the tracker knows what to take back.
    """

    consumer_uuid: str
    node_uuid: str
    id: int | None = None
