"""How many suspects there are, for /metrics (extensions.md 12)."""

import time
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric

from placement.extensions.monitoring.aside import Aside
from placement.extensions.suspects.rules import KINDS

#: seconds that the first page waits for the numbers, and for which they are kept: counting suspects
#: reads whole tables, and their numbers change slowly
PATIENCE = 2.0
KEPT = 300.0


class Suspected:
    """Counts suspects on a thread of its own, seldom, and yields their numbers.

    Only the first page waits for the numbers. A later page that finds them too old has them counted
    anew, and shows the old ones. While the database doesn't answer, pages have the last ones.

    :param counts: returns how many suspects of each kind there are
    :param clock: seconds that never go back
    """

    def __init__(
        self,
        counts: Callable[[], Mapping[str, int]],
        clock: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE,
    ) -> None:
        self._counts, self._clock, self._patience = counts, clock, patience
        self._counting = Aside(self._count, clock)
        self._latest: tuple[float, Mapping[str, int]] | None = None

    def collect(self) -> Iterator[Metric]:
        """Yield the one family, without samples as long as there are no numbers yet."""
        latest = self._latest
        if latest is None:
            self._counting.attempt(self._patience)
        elif self._clock() - latest[0] > KEPT:
            self._counting.attempt(0)
        found = GaugeMetricFamily(
            "placement_suspects",
            "What may be wrong, by its kind; see GET /berth/v1/suspects.",
            labels=["kind"],
        )
        if self._latest is not None:
            for kind in KINDS:
                found.add_metric([kind], self._latest[1].get(kind, 0))
        yield found

    def _count(self) -> None:
        begun = self._clock()
        self._latest = begun, self._counts()
