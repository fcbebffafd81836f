"""Moving allocations when the inventory under them moves to other providers.

The functions live in `compute.provider_tree.relocation`.
"""

from compute.provider_tree.relocation import KnownPlaces, Target, nobody_knows, relocate

__all__ = ["KnownPlaces", "Target", "nobody_knows", "relocate"]
