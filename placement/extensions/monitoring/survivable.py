"""How many losses of hosts can be absorbed, for /metrics (extensions.rst)."""

import time
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric

from placement.extensions.monitoring.aside import Aside
from placement.metrics.slots import Slots

#: seconds that the first page waits for the numbers
PATIENCE = 2.0
#: what is lost, and what becomes of it: the labels of the numbers, in the order of the board
BY, VERDICTS = ("root", "aggregate"), ("absorbed", "impossible", "unknown")


class Survivable:
    """Judges losses on a thread of its own, at intervals, and yields how many can be absorbed.

    One worker at a time judges, and tells the others by the memory that they share. As for
    suspects, a page that finds the numbers too old has them judged anew, and shows the old ones.

    :param judged: returns how many losses have each verdict, of hosts or aggregates
    :param slots: the memory; its board has the time of the numbers, then the numbers
    :param interval: seconds for which the numbers are kept; 0: there are none
    :param clock: seconds that never go back, the same for all workers
    """

    def __init__(
        self,
        judged: Callable[[str], Mapping[str, int]],
        slots: Slots,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE,
    ) -> None:
        self._judged, self._slots, self._interval = judged, slots, interval
        self._clock, self._patience = clock, patience
        self._judging = Aside(self._judge, clock)

    def collect(self) -> Iterator[Metric]:
        """Yield the one family, without samples as long as there are no numbers yet."""
        if not self._interval:
            return
        if not self._is_fresh():
            self._judging.attempt(0 if self._told() else self._patience)
        found = GaugeMetricFamily(
            "placement_survivable_sets",
            "Losses of each host (root), or of all hosts of each aggregate, by what becomes of "
            "what is on them; see POST /berth/v1/plans/survives.",
            labels=["by", "verdict"],
        )
        told = self._told()
        labels = [(by, verdict) for by in BY for verdict in VERDICTS]
        for names, value in zip(labels, told[1:], strict=False):
            found.add_metric(names, value)
        yield found

    def _told(self) -> list[float]:
        """Return the time and the numbers; nothing if there are none since the system started."""
        told = list(self._slots.board()[: 1 + len(BY) * len(VERDICTS)])
        return told if told and 0 < told[0] <= self._clock() else []

    def _is_fresh(self) -> bool:
        told = self._told()
        return bool(told) and self._clock() - told[0] <= self._interval

    def _judge(self) -> None:
        with self._slots.alone() as alone:
            if not alone or self._is_fresh():
                return
            begun = self._clock()
            counts = [self._judged(by) for by in BY]
            board = self._slots.board()
            numbers = [one[verdict] for one in counts for verdict in VERDICTS]
            for place, number in enumerate(numbers, 1):
                board[place] = number
            board[0] = begun
