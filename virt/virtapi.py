"""The calls that a driver may make back into the compute service (compute.md §6.1).

They are defined where the service is, in `compute.service.driver_callbacks`.
"""

from compute.service.driver_callbacks import NoopVirtAPI, VirtAPI

__all__ = ["NoopVirtAPI", "VirtAPI"]
