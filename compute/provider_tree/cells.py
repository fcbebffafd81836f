"""NUMA cells in a provider tree: the names of their providers, and what belongs on one cell."""

from compute.provider_tree.names import child_name

#: Classes that every cell has.
CELL_CLASSES = ("VCPU", "MEMORY_MB")

#: Beginning of the classes of huge pages: `CUSTOM_HUGEPAGES_2MB`, `CUSTOM_HUGEPAGES_1GB`.
HUGEPAGES = "CUSTOM_HUGEPAGES_"

# Classes that a guest should get from a single cell.
_TOGETHER = (*CELL_CLASSES, "PCPU")


def stays_together(resource_class: str) -> bool:
    """Say whether a guest should get this class, and the others like it, from a single cell."""
    return resource_class in _TOGETHER or resource_class.startswith(HUGEPAGES)


def cell_name(nodename: str, cell_id: int) -> str:
    """Return the name of a NUMA cell's provider, e.g. `compute1_numa0`."""
    return child_name(nodename, f"numa{cell_id}")
