"""Host aggregates, and which cell a host belongs to (compute.md §4.1)."""

from dataclasses import dataclass, field


@dataclass
class Aggregate:
    """A named set of hosts; its `uuid` is that of the aggregate in placement."""

    uuid: str
    name: str
    id: int | None = None
    hosts: list[str] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass
class HostMapping:
    """The cell that `host` belongs to."""

    host: str
    cell_uuid: str = ""
    id: int | None = None
