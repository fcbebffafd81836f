"""A driver of bare metal machines, as ironic manages them (compute.md §6.10)."""

from virt.ironic.driver import IronicDriver

__all__ = ["IronicDriver"]
