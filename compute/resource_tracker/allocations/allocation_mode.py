"""Who writes the allocations of instances, as `[compute]allocation_writer` says."""

from dataclasses import dataclass
from typing import Any

from oslo_config import cfg

TRACKER, SCHEDULER, AUTO = "tracker", "scheduler", "auto"


@dataclass(frozen=True)
class AllocationMode:
    """Reads the option anew each time it is asked.

    With `tracker` the tracker writes the allocations of all its instances, with `auto` those of
    instances that have none, with `scheduler` none.
    """

    conf: cfg.ConfigOpts
    driver: Any

    @property
    def is_tracker(self) -> bool:
        """Whether the operator chose `tracker`."""
        return self._chosen == TRACKER

    @property
    def writes_all(self) -> bool:
        """Whether the tracker writes all allocations; with `auto`, the driver may ask for that."""
        # A driver that derives from nova's own base class doesn't say.
        refresh = getattr(self.driver, "requires_allocation_refresh", False)
        return self.is_tracker or (self._chosen == AUTO and refresh)

    @property
    def writes_none(self) -> bool:
        """Whether the tracker writes no allocations."""
        return self._chosen == SCHEDULER

    @property
    def _chosen(self) -> str:
        return self.conf.compute.allocation_writer
