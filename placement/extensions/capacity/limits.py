"""Which resource class each tree runs out of first (extensions.md 6)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.columns import Numbers


class Limits:
    """The class that allows fewest requests, by slot of the tree's root."""

    def __init__(self, size: int) -> None:
        #: ids of resource classes; -1: none
        self.classes: Numbers = np.full(size, -1, np.int64)
        self._times = np.full(size, np.iinfo(np.int64).max, np.int64)
        self._shares = np.full(size, np.inf)

    def note(
        self, class_id: int, roots: npt.NDArray[np.integer[Any]], times: Numbers, shares: Numbers
    ) -> None:
        """Note how much trees have of a class.

        :param times: for how many requests that is enough
        :param shares: the same, if there were fractions of requests
        """
        known = self._times[roots]
        less = (times < known) | ((times == known) & (shares < self._shares[roots]))
        chosen = roots[less]
        self.classes[chosen] = class_id
        self._times[chosen], self._shares[chosen] = times[less], shares[less]
