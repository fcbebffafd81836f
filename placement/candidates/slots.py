"""Which numbers providers have in arrays, as types that the checker tells apart.

A provider is known by its *slot*, its index in all arrays of a cloud. A search looks at the arrays
of the whole cloud, or at those of a few trees (`cloud/tree_subset.py`), in which the same provider
has another slot::

    cloud           h0  h0.0  h1  h1.0  h2  h2.0        the tree of h2 alone   h2  h2.0
    WholeSlot        0     1   2     3   4     5        SearchedSlot            0     1

Both are plain numbers when the program runs. `WholeSlot(…)` says that a number is of the whole
cloud: only such a number has a uuid (`UuidTable`). `SearchedTrees.in_whole` turns the slots of the
arrays that a search looks at into such.
"""

from typing import NewType

import numpy as np
import numpy.typing as npt

WholeSlot = NewType("WholeSlot", int)
WholeSlots = NewType("WholeSlots", npt.NDArray[np.int32])
SearchedSlot = NewType("SearchedSlot", int)
SearchedSlots = NewType("SearchedSlots", npt.NDArray[np.int32])
