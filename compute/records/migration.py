"""The record of a migration: the move of an instance between two nodes (compute.md §4.1)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from uuid import uuid4

MIGRATION = "migration"
RESIZE = "resize"
LIVE_MIGRATION = "live-migration"
EVACUATION = "evacuation"

ACCEPTED = "accepted"
PRE_MIGRATING = "pre-migrating"
CONFIRMED = "confirmed"
REVERTED = "reverted"
ERROR = "error"
COMPLETED = "completed"
DONE = "done"

#: statuses of migrations that are over and hold nothing
ENDED = frozenset({CONFIRMED, REVERTED, "failed", COMPLETED, "cancelled", DONE})


@dataclass
class Migration:
    """The move of an instance. Its `uuid` is a consumer that holds the allocations at the source.

    `source_compute` and `dest_compute` are hosts, `source_node` and `dest_node` nodenames.
    """

    instance_uuid: str
    uuid: str = field(default_factory=lambda: str(uuid4()))
    id: int | None = None
    migration_type: str = MIGRATION
    status: str = ACCEPTED
    source_compute: str | None = None
    source_node: str | None = None
    dest_compute: str | None = None
    dest_node: str | None = None
    dest_host: str | None = None
    dest_compute_id: int | None = None
    old_flavor_name: str = ""
    new_flavor_name: str = ""
    created_at: float = field(default_factory=time.time)
    updated_at: float | None = field(default=None, compare=False)

    @property
    def in_progress(self) -> bool:
        """Whether it is neither over nor failed. A finished migration can still be reverted."""
        return self.status not in ENDED and self.status != ERROR

    @property
    def is_completed(self) -> bool:
        """Whether the instance moved for good."""
        return self.status in (CONFIRMED, COMPLETED, DONE)

    @property
    def is_live_migration(self) -> bool:
        """Whether the instance keeps running while it moves."""
        return self.migration_type == LIVE_MIGRATION

    @property
    def is_resize(self) -> bool:
        """Whether it is a resize or a cold migration."""
        return self.migration_type in (RESIZE, MIGRATION)
