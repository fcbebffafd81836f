"""The page /metrics, in Prometheus's and OpenMetrics' form (extensions.md 8).

It has a bounded size, however large the cloud is.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol
from wsgiref.types import StartResponse

from prometheus_client import make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric

from placement.extensions.monitoring import plain_text
from placement.http.environ import Environ, WSGIApplication


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


def page(collecting: Sequence[Collecting]) -> WSGIApplication:
    """Return the application that answers with the metrics of all of these, in their order.

    With parameters `name[]` it answers with the samples of these names only.
    """
    application: Callable[..., Iterable[bytes]] = make_wsgi_app(_All(collecting))

    def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        other = plain_text.unless_read(environ, start_response, plain_text.FORM)
        if other is not None:
            return other
        given: list[Any] = []
        body = b"".join(application(environ, lambda *more: given.extend(more)))
        status, headers = given
        # without a length, some servers end an answer by closing the connection: then the answer of
        # a worker that is killed looks complete
        start_response(status, [*headers, ("Content-Length", str(len(body)))])
        return [body]

    return answer


class _All:
    """The methods of a registry that prometheus-client's application calls."""

    def __init__(self, collecting: Sequence[Collecting]) -> None:
        self._collecting = collecting

    def collect(self) -> Iterator[Metric]:
        for one in self._collecting:
            yield from one.collect()

    def restricted_registry(self, names: Collection[str]) -> "_All":
        return _All([_Chosen(self, names)])


class _Chosen:
    """The samples of some names."""

    def __init__(self, collecting: Collecting, names: Collection[str]) -> None:
        self._collecting, self._names = collecting, frozenset(names)

    def collect(self) -> Iterator[Metric]:
        for metric in self._collecting.collect():
            chosen = Metric(metric.name, metric.documentation, metric.type, metric.unit)
            chosen.samples = [one for one in metric.samples if one.name in self._names]
            if chosen.samples:
                yield chosen
