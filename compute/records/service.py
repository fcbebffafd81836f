"""The record of a compute service: one per host, whatever number of nodes it manages."""

from dataclasses import dataclass


@dataclass
class Service:
    """A compute service. `disabled` keeps new instances away (trait COMPUTE_STATUS_DISABLED)."""

    host: str
    id: int | None = None
    disabled: bool = False
    disabled_reason: str | None = None
