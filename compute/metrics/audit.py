"""What `nova-manage placement audit` counts."""

import time
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

_SUSPECTS = "berth_audit_suspected_leaks"
_GUESTS = "berth_audit_misfit_guests"
_LAST_GOOD = "berth_audit_last_good_timestamp_seconds"
#: kinds of guests that don't hold what they should
LACKING, SURPLUS = "lacking", "surplus"
_MISFITS = (LACKING, SURPLUS)


class AuditMetrics:
    """The result of the last audit, and how many audits this process made.

    :param kinds: every kind of suspects
    """

    def __init__(self, kinds: Iterable[str]) -> None:
        self._kinds = tuple(kinds)
        self._registry = CollectorRegistry()
        self._audits = Counter(
            "berth_audit_runs", "Audits that ended, well or not.", registry=self._registry
        )
        self._failures = Counter(
            "berth_audit_failures", "Audits that could not be finished.", registry=self._registry
        )
        self._duration = Gauge(
            "berth_audit_duration_seconds", "Time of the last audit.", registry=self._registry
        )
        self._suspects = Gauge(
            _SUSPECTS,
            "Allocations that the last finished audit found, by the kind of their consumer.",
            ["kind"],
            registry=self._registry,
        )
        self._guests = Gauge(
            _GUESTS,
            "Guests that the last finished audit found to hold less or more than they should.",
            ["kind"],
            registry=self._registry,
        )
        self._last_good = Gauge(
            _LAST_GOOD,
            "When the last finished audit ended, in seconds since 1970. 0: none did.",
            registry=self._registry,
        )

    def recall(self, text: str) -> None:
        """Take over what another process's text says of its last finished audit.

        Raises ValueError for a text that has no metrics.
        """
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                kind = sample.labels.get("kind")
                if sample.name == _LAST_GOOD:
                    self._last_good.set(sample.value)
                elif sample.name == _SUSPECTS and kind in self._kinds:
                    self._suspects.labels(kind).set(sample.value)
                elif sample.name == _GUESTS and kind in _MISFITS:
                    self._guests.labels(kind).set(sample.value)

    def failed(self, seconds: float) -> None:
        """Count an audit that could not be finished."""
        self._audits.inc()
        self._duration.set(seconds)
        self._failures.inc()

    def ended(
        self, seconds: float, suspects: Mapping[str, int], guests: Mapping[str, int] | None
    ) -> None:
        """Count an audit that was finished.

        :param suspects: kind → how many it found
        :param guests: LACKING, SURPLUS → how many guests; None: it judged none
        """
        self._audits.inc()
        self._duration.set(seconds)
        for kind in self._kinds:
            self._suspects.labels(kind).set(suspects.get(kind, 0))
        if guests is not None:
            for kind in _MISFITS:
                self._guests.labels(kind).set(guests.get(kind, 0))
        self._last_good.set(time.time())

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
