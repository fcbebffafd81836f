"""The page /metrics: bounded however large the cloud is, in Prometheus's and OpenMetrics' form."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric

from placement.http.environ import WSGIApplication


class Collecting(Protocol):
    """Yields metrics."""

    def collect(self) -> Iterable[Metric]:
        """Yield the families as of now."""


class Build:
    """Which service this is.

    :param database: the kind of database
    """

    def __init__(self, version: str, reference: str, database: str) -> None:
        self._values = {"version": version, "reference": reference, "database": database}

    def collect(self) -> Iterator[Metric]:
        """Yield the one family."""
        names = list(self._values)
        metric = GaugeMetricFamily(
            "placement_build_info",
            "The version of Berth, the OpenStack Placement it answers like, and its database.",
            labels=names,
        )
        metric.add_metric(list(self._values.values()), 1)
        yield metric


def page(collecting: Iterable[Collecting]) -> WSGIApplication:
    """Return the application that answers with the metrics of all of these, in their order."""
    registry = CollectorRegistry(auto_describe=False)
    for one in collecting:
        registry.register(_Named(one.collect))
    application: WSGIApplication = make_wsgi_app(registry)
    return application


class _Named:
    """A collector that isn't asked for its names when it is registered."""

    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self.collect = collect

    def describe(self) -> list[Metric]:
        return []
