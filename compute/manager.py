"""The compute manager, under the name that nova's developers import."""

from compute.service.manager import ComputeManager, DriverInitFailed, UpdateOutcome

__all__ = ["ComputeManager", "DriverInitFailed", "UpdateOutcome"]
