"""/metrics of placement-api: the figures of all workers, whoever answers and whoever was killed."""

import contextlib
import os
import re
import signal
import socket
import subprocess

import pytest
import requests
from prometheus_client.openmetrics import parser as openmetrics

from tests.functional.placement.serving.conftest import starting
from tests.functional.placement.serving.programs import (
    ADMIN,
    FORKED,
    PATIENCE,
    free_port,
    needed,
    wait_until,
)
from tests.functional.placement.serving.prometheus import watching
from tests.functional.placement.serving.refusing import refusing

COMMAND = [FORKED]
SAMPLE = re.compile(r"^(\w+(?:\{.*\})?) (\S+)$")
#: requests of these tests, by the series that counts them
CLASSES = (
    'placement_http_requests_total{method="GET",route="/resource_classes/{name}",status="200"}'
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return a placement-api with two workers, and the port of its metrics."""
    port, beside = free_port(), free_port()
    with starting(tmp_path_factory.mktemp("metrics")) as start:
        server = start(
            [*COMMAND, "--port", str(port), "--workers", "2", "--metrics-port", str(beside)],
            f"http://127.0.0.1:{port}",
        )
        wait_until(lambda: len(server.workers()) == 2, server.said)
        yield server, beside


def scraped(url, path="/metrics"):
    """Return the values of a page, by series."""
    response = requests.get(url + path, timeout=PATIENCE)
    assert response.status_code == 200, response.text
    return values_of(response.text)


def values_of(page):
    """Return the values of a page's text, by series."""
    found = {}
    for line in page.splitlines():
        if not line.startswith("#"):
            series, value = SAMPLE.match(line).groups()
            found[series] = float(value)
    return found


def counters(values):
    """Return those that must never fall."""
    parts = ("_total", "_count", "_sum", "_bucket")
    return {
        series: value
        for series, value in values.items()
        if series.partition("{")[0].endswith(parts)
    }


def ask(server, times):
    """Send requests on connections of their own, so that both workers answer some."""
    for _ in range(times):
        assert server.request("GET", "/resource_classes/VCPU").status_code == 200


def never_fell(before, after):
    fallen = {
        series: (value, after.get(series))
        for series, value in counters(before).items()
        if after.get(series, 0.0) < value
    }
    assert fallen == {}


def test_counters_are_of_all_workers_and_never_fall(served):
    server, beside = served
    urls = (server.url, f"http://127.0.0.1:{beside}")
    already = scraped(server.url).get(CLASSES, 0)
    ask(server, 20)
    first = scraped(server.url)
    assert first[CLASSES] == already + 20
    never_fell(first, scraped(urls[1]))
    # an old worker goes as an operator or the system ends it
    for how, replaced in (
        (signal.SIGKILL, lambda pid: os.kill(int(pid), signal.SIGKILL)),
        (signal.SIGHUP, lambda pid: server.process.send_signal(signal.SIGHUP)),
    ):
        before = server.workers()
        known = scraped(server.url)
        replaced(min(before))
        wait_until(
            lambda before=before: len(server.workers()) == 2 and server.workers() != before,
            server.said,
        )
        ask_patiently(server, 10)
        for url in urls:
            after = scraped(url)
            never_fell(known, after)
            assert after[CLASSES] == known[CLASSES] + 10, how
    assert scraped(server.url)["placement_http_requests_in_progress"] >= 1


def ask_patiently(server, times):
    """Send as many requests; a connection that a stopping worker closed doesn't count."""
    for _ in range(times):

        def answered():
            with contextlib.suppress(requests.ConnectionError):
                return server.request("GET", "/resource_classes/VCPU").status_code == 200
            return False

        wait_until(answered, server.said)


def test_what_the_server_itself_refuses_is_counted(served):
    server, _ = served
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 400")
    series = 'placement_http_requests_total{method="GET",route="unmatched",status="400"}'
    wait_until(lambda: scraped(server.url).get(series) == 1, server.said)


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text; version=1.0.0"])
def test_prometheus_finds_no_fault_with_the_page(served, accept):
    promtool = needed("promtool", "prometheus")
    server, _ = served
    ask(server, 1)
    server.request("GET", "/allocation_candidates?resources=VCPU:1")
    page = requests.get(f"{server.url}/metrics", headers={"accept": accept}, timeout=PATIENCE)
    assert page.headers["content-type"].startswith(accept.partition(";")[0])
    if accept == "text/plain":
        checked = subprocess.run(
            [promtool, "check", "metrics"], input=page.text, capture_output=True, text=True
        )
        assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    else:
        # its parser is stricter than Prometheus's
        assert {
            family.type for family in openmetrics.text_string_to_metric_families(page.text)
        } == {
            "counter",
            "gauge",
            "histogram",
        }


def test_the_port_of_metrics_is_for_neighbours_only(served):
    _, beside = served
    url = f"http://127.0.0.1:{beside}"
    proxied = requests.get(
        f"{url}/metrics", headers={"x-forwarded-for": "192.0.2.1"}, timeout=PATIENCE
    )
    assert proxied.status_code == 403
    assert requests.get(f"{url}/traits", headers=ADMIN, timeout=PATIENCE).status_code == 404
    # a client that sends nothing keeps nobody else waiting for long
    with socket.create_connection(("127.0.0.1", beside)):
        assert requests.get(f"{url}/metrics", timeout=PATIENCE).status_code == 200


def test_a_port_that_is_taken_is_told(tmp_path, monkeypatch, capsys, own_logging):
    refused = refusing(tmp_path, monkeypatch, capsys)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        lines = refused("--port", str(free_port()), "--metrics-port", port)
    said = f"can't serve metrics on 127.0.0.1 port {port}: Address already in use"
    assert said in lines[-1]


def test_processes_of_uwsgi_share_a_folder(start, tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    port = free_port()
    # the processes are forked after the application was made
    server = start(
        [
            *(needed("uwsgi", "pyuwsgi"), "--need-app", "--master", "--die-on-term"),
            *("--processes", "2", "--http-socket", f"127.0.0.1:{port}"),
            *("--module", "placement.wsgi.api:application"),
        ],
        f"http://127.0.0.1:{port}",
        PROMETHEUS_MULTIPROC_DIR=str(folder),
    )
    ask(server, 40)
    known = scraped(server.url)
    assert known[CLASSES] == 40
    victims = server.workers()
    for pid in victims:
        os.kill(int(pid), signal.SIGKILL)
    wait_until(lambda: len(server.workers() - victims) == 2, server.said)
    ask_patiently(server, 40)
    after = scraped(server.url)
    never_fell(known, after)
    assert after[CLASSES] == 80
    assert len(list(folder.iterdir())) == 1


@pytest.fixture
def prometheus(served, tmp_path):
    """Return a function that asks a Prometheus, which reads both pages; it gives one number."""
    with watching(served[0].url, tmp_path) as running:
        yield running.number


@pytest.mark.thorough
def test_a_prometheus_sees_each_request_once_while_workers_go_and_come(served, prometheus):
    server, _ = served
    wait_until(lambda: prometheus(CLASSES + " or vector(0)") is not None, server.said)
    wait_until(lambda: prometheus('sum(up{job=~"placement.*"})') == 2, server.said)
    assert prometheus("openstack_placement_up") == 1
    before = scraped(server.url).get(CLASSES, 0)
    ask_patiently(server, 10)
    os.kill(int(min(server.workers())), signal.SIGKILL)
    ask_patiently(server, 10)
    old = server.workers()
    server.process.send_signal(signal.SIGHUP)
    ask_patiently(server, 10)
    wait_until(lambda: server.workers() and not server.workers() & old, server.said)
    ask_patiently(server, 10)
    wait_until(lambda: prometheus(CLASSES) == before + 40, server.said)
    assert prometheus("sum(resets(placement_http_requests_total[5m]))") == 0
    assert prometheus("sum(resets(placement_http_request_duration_seconds_count[5m]))") == 0
