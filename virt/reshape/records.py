"""Reading and editing one consumer's allocation records, as a driver does in a reshape.

The functions live in `compute.provider_tree.allocation_records`.
"""

from compute.provider_tree.allocation_records import Allocations, give, held, holdings, take

__all__ = ["Allocations", "give", "held", "holdings", "take"]
