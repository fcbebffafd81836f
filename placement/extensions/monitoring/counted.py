"""What the workers counted, as metrics of prometheus-client (extensions.md 8)."""

import os
from collections.abc import Iterator

import numpy as np
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from placement.metrics.families import Family, FamilyKind
from placement.metrics.meter import Meter
from placement.metrics.slots import Numbers, Slots


class Counted:
    """Adds up what all workers counted, or shows what one counted with its process id.

    :param meter: this process's
    :param of_process: whether to show this process alone, with the label `pid`
    """

    def __init__(self, meter: Meter, slots: Slots, of_process: bool) -> None:
        self._meter, self._slots, self._of_process = meter, slots, of_process

    def collect(self) -> Iterator[Metric]:
        """Yield the families. A series with labels is left out as long as it has no event."""
        self._meter.look()
        rows, living = self._numbers()
        for family in self._meter.layout.families:
            yield self._metric(family, rows, living)

    def _numbers(self) -> tuple[Numbers, list[int]]:
        """Return the numbers of all processes, and which rows have a living process."""
        if not self._of_process:
            return self._slots.ever(), self._slots.living()
        slot = self._meter.slot
        width = self._meter.layout.width
        row = np.zeros((1, width)) if slot is None else slot.numbers.reshape(1, width)
        return row, [0]

    def _metric(self, family: Family, rows: Numbers, living: list[int]) -> Metric:
        layout = self._meter.layout
        pid = [str(os.getpid())] if self._of_process else []
        names = [name for name, _ in family.labels] + (["pid"] if pid else [])
        metric = _EMPTY[family.kind](family.name, family.text, labels=names)
        part = rows[:, layout.part(family)]
        if family.kind is FamilyKind.GAUGE:
            part = part[living]
        greatest = family.greatest and len(part)
        numbers = part.max(axis=0) if greatest else part.sum(axis=0)
        series = numbers.reshape(-1, family.width)
        for number in self._shown(family, series):
            labels = [*layout.labels(family, number), *pid]
            found = series[number]
            if family.kind is FamilyKind.HISTOGRAM:
                metric.add_metric(labels, _buckets(family, found), sum_value=float(found[-1]))
            else:
                # a process may end connections that the process it was forked from had opened
                metric.add_metric(labels, max(0.0, float(found[0])))
        return metric

    def _shown(self, family: Family, series: Numbers) -> list[int]:
        """Return the numbers of the series to show."""
        used: list[int] = np.flatnonzero(series.any(axis=1)).tolist()
        if not family.labels:
            return [0]
        if family.kind is FamilyKind.GAUGE or (
            family.kind is FamilyKind.COUNTER and len(family.labels) == 1
        ):
            # these begin with 0: Prometheus takes the first sample of a series for no increase. The
            # last label value is `other`, which is shown only if it is used
            return sorted({*range(len(series) - 1), *used})
        return used


_EMPTY = {
    FamilyKind.COUNTER: CounterMetricFamily,
    FamilyKind.GAUGE: GaugeMetricFamily,
    FamilyKind.HISTOGRAM: HistogramMetricFamily,
}


def _buckets(family: Family, found: Numbers) -> list[tuple[str, float]]:
    bounds = [*(str(float(bound)) for bound in family.buckets), "+Inf"]
    return list(zip(bounds, np.cumsum(found[:-1]).tolist(), strict=True))
