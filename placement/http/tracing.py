"""Traces of requests by OpenTelemetry, if `[berth]traces` is set (extensions.md 8)."""

import importlib.util
import logging
import os
from collections.abc import Iterable
from typing import Any

from oslo_config import cfg
from werkzeug.wsgi import ClosingIterator

from placement.http.environ import (
    CANDIDATES,
    CONTEXT,
    RETRIES,
    ROUTE,
    STATEMENTS,
    Environ,
    ExcInfo,
    Headers,
    StartResponse,
    WriteBody,
    WSGIApplication,
)
from placement.metrics.families import METHODS

LOG = logging.getLogger(__name__)

_NAME = "placement"
#: what spans have for methods that aren't HTTP's, and the name of such a span
_OTHER, _UNNAMED = "_OTHER", "HTTP"
#: characters of a path, and of what other tracers add, that a span has: many spans may wait for
#: the collector
_LONGEST = 1_000
#: what each span tells, by the key of the environment that has it
_TOLD = {
    ROUTE: "http.route",
    STATEMENTS: "placement.statements",
    RETRIES: "placement.retries",
    CANDIDATES: "placement.candidates",
}


def traced(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Wrap the application in `Traced` if the configuration says so.

    Spans go where the variables of OpenTelemetry say (`OTEL_EXPORTER_OTLP_ENDPOINT`, …), or to
    what a program around the service has set up. Without OpenTelemetry a warning is logged, and
    nothing is traced.
    """
    if not conf.berth.traces:
        return application
    # Several packages share the folder `opentelemetry`, so it alone may be a rest of another one.
    # What is needed is the folder with the part `sdk` in it.
    if any(importlib.util.find_spec(f"opentelemetry{part}") is None for part in ("", ".sdk")):
        LOG.warning("[berth]traces has no effect: install openstack-berth[otel].")
        return application
    return Traced(application, _tracer())


def _tracer() -> object:
    from opentelemetry import trace

    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        provider = _own_provider()
    return provider.get_tracer(_NAME)


def _own_provider() -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    provider = TracerProvider(resource=Resource.create({} if named else {"service.name": _NAME}))
    # its queue is bounded, and what doesn't fit is dropped: no request waits for a collector
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Traced:
    """Middleware that gives each request a span, from its arrival to the end of its answer.

    :param tracer: of OpenTelemetry
    """

    def __init__(self, application: WSGIApplication, tracer: Any) -> None:
        from opentelemetry import propagate, trace

        self.application = application
        self._tracer, self._trace, self._propagate = tracer, trace, propagate

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        given = environ["REQUEST_METHOD"]
        method = given if given in METHODS else _OTHER
        name = _UNNAMED if method == _OTHER else method
        span = self._tracer.start_span(
            name,
            self._propagate.extract(_headers(environ)),
            self._trace.SpanKind.SERVER,
            {"http.request.method": method, "url.path": _path(environ)},
        )

        def start(status: str, headers: Headers, exc_info: ExcInfo = None) -> WriteBody:
            code = int(status[:3])
            span.set_attribute("http.response.status_code", code)
            if code >= 500:
                span.set_status(self._trace.StatusCode.ERROR)
            return start_response(status, headers, exc_info)

        def end() -> None:
            _describe(span, name, environ)
            span.end()

        try:
            answer = self.application(environ, start)
        except BaseException as error:
            span.record_exception(error)
            span.set_status(self._trace.StatusCode.ERROR)
            end()
            raise
        return ClosingIterator(answer, end)


def _describe(span: Any, name: str, environ: Environ) -> None:
    """Tell what was found out while the request was answered."""
    if ROUTE in environ:
        span.update_name(f"{name} {environ[ROUTE]}")
    for key, attribute in _TOLD.items():
        if environ.get(key) is not None:
            span.set_attribute(attribute, environ[key])
    context = environ.get(CONTEXT)
    if context is not None:
        span.set_attribute("openstack.request_id", context.request_id)


def _headers(environ: Environ) -> dict[str, str]:
    """Return the headers that name the trace a request is part of."""
    found = {name: environ.get(f"HTTP_{name.upper()}") for name in ("traceparent", "tracestate")}
    return {
        name: value for name, value in found.items() if value is not None and len(value) <= _LONGEST
    }


def _path(environ: Environ) -> str:
    """Return the path as text, whatever bytes it has."""
    text = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    return text.encode("latin-1", "replace").decode("utf-8", "replace")[:_LONGEST]
