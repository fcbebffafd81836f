"""[berth]traces: a span for each request, and nothing without it."""

import http.server
import threading

import pytest
import requests
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from placement import config
from placement.http import tracing
from placement.http.tracing import Traced
from tests.functional.placement.serving.conftest import starting
from tests.functional.placement.serving.programs import FORKED, free_port, wait_until
from tests.functional.placement.small_cloud import NEW, ROOT, expect, holding
from tests.functional.placement.topology import small_cloud_at
from tests.patience import PATIENCE

pytestmark = pytest.mark.spread_over_databases

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def service(new_service, exporter, monkeypatch):
    """Return a service whose spans go to the exporter, with the cloud of `small_cloud.fill`."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_tracer", lambda: provider.get_tracer("test"))
    return new_service(content=small_cloud_at, berth__traces=True)


def test_a_span_tells_what_a_search_was(service, exporter):
    found = expect(service.get("/allocation_candidates?resources=VCPU:1"), 200)

    (span,) = exporter.get_finished_spans()
    assert (span.name, span.kind) == ("GET /allocation_candidates", SpanKind.SERVER)
    told = dict(span.attributes)
    assert told.pop("placement.statements") >= 1
    assert told == {
        "http.request.method": "GET",
        "http.route": "/allocation_candidates",
        "http.response.status_code": 200,
        "url.path": "/allocation_candidates",
        "placement.retries": 0,
        "placement.candidates": 1,
        "openstack.request_id": found.headers["x-openstack-request-id"],
    }
    assert span.status.status_code is StatusCode.UNSET


def test_a_span_is_part_of_the_callers_trace(service, exporter):
    service.get("/", headers_more={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    service.get("/", headers_more={"traceparent": "nonsense"})

    first, second = exporter.get_finished_spans()
    assert f"{first.context.trace_id:032x}" == TRACE
    assert f"{first.parent.span_id:016x}" == PARENT
    assert second.parent is None


def test_routes_are_templates_and_unknown_paths_have_none(service, exporter):
    service.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    service.get("/nothing/%ff")

    put, unknown = exporter.get_finished_spans()
    assert (put.name, put.attributes["url.path"]) == (
        "PUT /allocations/{consumer_uuid}",
        f"/allocations/{NEW}",
    )
    assert unknown.name == "GET"
    assert unknown.attributes["http.response.status_code"] == 404


def test_what_a_client_chooses_is_short(service, exporter):
    long = ",".join(f"v{number}={'x' * 250}" for number in range(32))
    parent = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    service.client.open(
        "/" + "x" * 60_000, method="Y" * 60_000, headers=parent | {"tracestate": long}
    )
    service.client.get("/", headers=parent | {"tracestate": "vendor=kept"})

    span, ordinary = exporter.get_finished_spans()
    assert (span.name, span.attributes["http.request.method"]) == ("HTTP", "_OTHER")
    assert len(span.attributes["url.path"]) == 1_000
    assert (f"{span.context.trace_id:032x}", len(span.context.trace_state)) == (TRACE, 0)
    assert dict(ordinary.context.trace_state) == {"vendor": "kept"}


def test_no_token_and_no_query_is_told(service, exporter):
    service.get("/traits?name=in:CUSTOM_SECRET", headers_more={"x-auth-token": "admin:hidden"})

    (span,) = exporter.get_finished_spans()
    assert "hidden" not in str(span.to_json())
    assert "SECRET" not in str(span.to_json())


def test_a_failure_is_an_error_and_ends_the_span(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    def failing(environ, start_response):
        raise MemoryError

    application = Traced(failing, provider.get_tracer("test"))
    with pytest.raises(MemoryError):
        application({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, None)

    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR


def test_without_the_library_a_line_says_so(new_service, monkeypatch, caplog):
    monkeypatch.setattr(tracing.importlib.util, "find_spec", lambda name: None)

    service = new_service(berth__traces=True)

    assert service.get("/").status_code == 200
    assert "install openstack-berth[otel]" in caplog.text


def test_switched_off_it_is_not_there():
    conf = config.load(
        files=[], environ=False, overrides={("placement_database", "connection"): "sqlite://"}
    )

    assert tracing.traced(application_of_nobody, conf) is application_of_nobody


def application_of_nobody(environ, start_response):
    raise AssertionError("nobody asks")


class Collector(http.server.BaseHTTPRequestHandler):
    """Takes spans as a collector does."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            raise AssertionError("nobody asked for compression")
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            names = {a.key: a.value.string_value for a in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.server.spans += [(names["service.name"], span.name) for span in scope.spans]
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args):
        """Nothing."""


def test_workers_send_spans_to_a_collector_that_may_go(tmp_path):
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    collector.spans = []
    # a daemon: a test that fails leaves it to the end of the process
    thread = threading.Thread(target=collector.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    port = free_port()
    with starting(tmp_path) as start:
        server = start(
            [FORKED, "--port", str(port), "--workers", "2"],
            f"http://127.0.0.1:{port}",
            OS_BERTH__TRACES="true",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector.server_address[1]}",
            OTEL_BSP_SCHEDULE_DELAY="50",
        )
        for _ in range(4):
            assert server.request("GET", "/traits").status_code in (200, 404)
        wait_until(lambda: len(collector.spans) >= 4, server.said)
        assert {name for name, _ in collector.spans} == {"placement"}
        collector.shutdown()
        thread.join()
        collector.server_close()
        assert requests.get(server.url, timeout=PATIENCE).status_code == 200
