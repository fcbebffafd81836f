"""How many suspects there are, for the page of metrics (extensions.md 12)."""

import time
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric

from placement.extensions.monitoring.aside import Aside
from placement.extensions.suspects.rules import KINDS

#: seconds that the first page waits for a look, and for which its numbers are kept: a look reads
#: whole tables, and suspects are nothing that changes from scrape to scrape
PATIENCE = 2.0
KEPT = 300.0


class Suspected:
    """Looks for suspects beside the requests, seldom, and yields their numbers.

    No page but the first one waits for a look: a page that finds the numbers too old starts one,
    and shows the old ones. While the database doesn't answer, the last ones count.

    :param counts: looks
    :param clock: seconds that never go back
    """

    def __init__(
        self,
        counts: Callable[[], Mapping[str, int]],
        clock: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE,
    ) -> None:
        self._counts, self._clock, self._patience = counts, clock, patience
        self._looking = Aside(self._look, clock)
        self._latest: tuple[float, Mapping[str, int]] | None = None

    def collect(self) -> Iterator[Metric]:
        """Yield the one family, without samples before the first look has ended."""
        latest = self._latest
        if latest is None:
            self._looking.attempt(self._patience)
        elif self._clock() - latest[0] > KEPT:
            self._looking.attempt(0)
        found = GaugeMetricFamily(
            "placement_suspects",
            "What may be wrong, by its kind; see GET /berth/v1/suspects.",
            labels=["kind"],
        )
        if self._latest is not None:
            for kind in KINDS:
                found.add_metric([kind], self._latest[1].get(kind, 0))
        yield found

    def _look(self) -> None:
        begun = self._clock()
        self._latest = begun, self._counts()
