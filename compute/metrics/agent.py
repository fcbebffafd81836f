"""What `berth-compute` counts: updates, failures, reshapes, and requests to placement."""

import threading
import time
from collections.abc import Callable, Collection, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric

from compute import exceptions
from compute.report.wire.failures import UNCONNECTED, causes, has_no_connection, refused_access

METHODS = ("GET", "POST", "PUT", "DELETE")
#: the status of a request that got no answer
UNANSWERED = "none"
RESHAPED, NOT_RESHAPED = "done", "failed"
DURATIONS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)

OTHER = "other"
_BY_CLASS: tuple[tuple[str, tuple[type[BaseException], ...]], ...] = (
    ("reshape", (exceptions.ReshapeFailed, exceptions.ReshapeNeeded)),
    ("conflict", (exceptions.PlacementAPIConflict,)),
    ("driver", (exceptions.VirtDriverNotReady, exceptions.ComputeHostNotFound)),
    (
        "configuration",
        (
            exceptions.InvalidConfiguration,
            exceptions.ProviderConfigException,
            exceptions.PlacementPciException,
        ),
    ),
)
#: every value of the label `kind`
KINDS = (*(kind for kind, _ in _BY_CLASS), "refused", "unreachable", OTHER)


def kind_of(failure: BaseException) -> str:
    """Return which of KINDS a failure is."""
    for kind, classes in _BY_CLASS:
        if isinstance(failure, classes):
            return kind
    if refused_access(failure):
        return "refused"
    if has_no_connection(failure) or any(isinstance(one, UNCONNECTED) for one in causes(failure)):
        return "unreachable"
    return OTHER


class AgentMetrics:
    """Counts for one service; its threads may all count.

    Labels are bounded: kinds of failures, methods and statuses are few, and so are the classes that
    flavors of this host name. A node has a series only while the driver lists it.

    :param clock: returns the seconds since the epoch
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._registry = CollectorRegistry()
        self._durations = Histogram(
            "berth_compute_update_duration_seconds",
            "Time of an update of all nodes of this host.",
            buckets=DURATIONS,
            registry=self._registry,
        )
        self._failures = Counter(
            "berth_compute_update_failures",
            "Updates of a node, or of all nodes, that failed, by the kind of the failure.",
            ["kind"],
            registry=self._registry,
        )
        self._reshapes = Counter(
            "berth_compute_reshapes",
            "Reshapes of a node's providers, by their result.",
            ["result"],
            registry=self._registry,
        )
        self._requests = Counter(
            "berth_compute_placement_requests",
            "Requests sent to placement, by method and status (none: no answer).",
            ["method", "status"],
            registry=self._registry,
        )
        self._unplaced = Counter(
            "berth_compute_unplaced",
            "Guests that hold less of a class in placement than their flavor asks for, "
            "each counted once, by class.",
            ["resource_class"],
            registry=self._registry,
        )
        self._last_good = _LastGood()
        self._registry.register(self._last_good)
        # at 0: Prometheus sees no increase where a series begins with 1
        for kind in KINDS:
            self._failures.labels(kind)
        for result in (RESHAPED, NOT_RESHAPED):
            self._reshapes.labels(result)
        for name in ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB"):
            self._unplaced.labels(name)
        self.page = make_wsgi_app(self._registry)

    def request(self, method: str, status: int | None) -> None:
        """Count a request to placement. None: it got no answer."""
        known = method if method in METHODS else "other"
        told = UNANSWERED if status is None else str(status) if 100 <= status < 600 else "other"
        self._requests.labels(known, told).inc()

    def update_ended(self, seconds: float) -> None:
        """Count an update of all nodes, however it ended."""
        self._durations.observe(seconds)

    def update_failed(self, failure: Exception) -> None:
        """Count the failure of a node, or of the listing of the nodes."""
        kind = kind_of(failure)
        self._failures.labels(kind).inc()
        if kind == "reshape":
            self._reshapes.labels(NOT_RESHAPED).inc()

    def unplaced(self, resource_class: str) -> None:
        """Count a guest that lacks some of a class, when that is noticed."""
        self._unplaced.labels(resource_class).inc()

    def node_updated(self, nodename: str, reshaped: bool) -> None:
        """Note that the update of a node succeeded."""
        if reshaped:
            self._reshapes.labels(RESHAPED).inc()
        self._last_good.note(nodename, self._clock())

    def nodes_listed(self, nodenames: Collection[str]) -> None:
        """Forget the nodes that the driver has no longer."""
        self._last_good.keep(nodenames)


class _LastGood:
    """Node → when its last good update ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[str, float] = {}

    def note(self, nodename: str, when: float) -> None:
        with self._lock:
            self._times[nodename] = when

    def keep(self, nodenames: Collection[str]) -> None:
        with self._lock:
            for gone in self._times.keys() - set(nodenames):
                del self._times[gone]

    def collect(self) -> Iterator[Metric]:
        metric = GaugeMetricFamily(
            "berth_compute_last_good_update_timestamp_seconds",
            "When the last update of the node ended that did not fail, in seconds since 1970.",
            labels=["node"],
        )
        with self._lock:
            times = sorted(self._times.items())
        for nodename, when in times:
            metric.add_metric([nodename], when)
        yield metric
