"""A driver of bare metal machines, as ironic manages them (compute.md §6.10).

`driver` asks a NodeSource (`node`) for machines: `bare_metal_api` asks ironic, `inventory_file`
reads a file. `former_classes` and `reported_traits` are about what earlier runs reported.
"""

from virt.ironic.driver import IronicDriver

__all__ = ["IronicDriver"]
