"""`berth-compute` serves its metrics on a port, whatever else it is doing."""

import signal
import socket
import subprocess
import threading

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from tests.functional.compute.agent.process import lines_until
from tests.functional.forked import PATIENCE
from tests.functional.placement.serving.programs import free_port, needed

UPDATING = "Updating resources every"


@pytest.fixture
def port():
    return free_port()


def page(port):
    answer = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE)
    answer.raise_for_status()
    return answer.text


def scraped(port):
    """Series → value; a series is its name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(page(port))
        for sample in family.samples
    }


def test_a_folder_for_other_servers_is_left_alone(agent, service, port, monkeypatch, tmp_path):
    folder = tmp_path / "not there"
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder))
    started = agent.program(berth__metrics_port=str(port))
    lines_until(started, UPDATING)
    assert scraped(port)["berth_compute_update_duration_seconds_count",] == 1
    assert not folder.exists()


def test_what_the_first_update_did_is_told_and_the_port_is_for_neighbours(agent, service, port):
    seen = []
    service.before = lambda method, path: seen.append(method)
    started = agent.program(berth__metrics_port=str(port))
    lines_until(started, UPDATING)
    counted = scraped(port)
    sent = {k[1:]: v for k, v in counted.items() if k[0].endswith("placement_requests_total")}
    by_method = {method: 0 for method, _ in sent}
    for (method, _), number in sent.items():
        by_method[method] += number
    assert by_method == {method: seen.count(method) for method in set(seen)}
    assert counted["berth_compute_update_duration_seconds_count",] == 1
    assert counted["berth_compute_last_good_update_timestamp_seconds", agent.host] > 1e9
    assert counted["berth_compute_reshapes_total", "done"] == 0
    assert not any(v for k, v in counted.items() if "failures_total" in k[0])
    checked = subprocess.run(
        [needed("promtool", "prometheus"), "check", "metrics"],
        input=page(port),
        capture_output=True,
        text=True,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    url = f"http://127.0.0.1:{port}/metrics"
    assert (
        requests.get(url, headers={"X-Forwarded-For": "::1"}, timeout=PATIENCE).status_code == 403
    )
    # A client that says nothing holds up neither the end nor the next start on the same port.
    with socket.create_connection(("127.0.0.1", port)):
        started.send_signal(signal.SIGTERM)
        assert started.wait(PATIENCE) == 0
    again = agent.launch(
        berth__metrics_port=str(port), default__compute_driver="fake.FakeNUMAReshapeDriver"
    )
    lines_until(again, UPDATING)
    assert scraped(port)["berth_compute_reshapes_total", "done"] == 1


def test_it_answers_while_an_update_waits_and_counts_what_fails(agent, service, port):
    asked, go_on = threading.Event(), threading.Event()

    def hold(method, path):
        asked.set()
        go_on.wait(PATIENCE)
        return True

    service.before = hold
    started = agent.launch(berth__metrics_port=str(port))
    try:
        assert asked.wait(PATIENCE)
        assert scraped(port)["berth_compute_update_duration_seconds_count",] == 0
    finally:
        go_on.set()
    lines_until(started, UPDATING)
    counted = scraped(port)
    assert counted["berth_compute_update_failures_total", "unreachable"] == 1
    assert counted["berth_compute_placement_requests_total", "GET", "none"] > 0
    assert not any(name.endswith("timestamp_seconds") for name, *_ in counted)


def test_a_port_in_use_is_named(agent, port):
    with socket.create_server(("127.0.0.1", port)):
        ended = agent.launch(berth__metrics_port=str(port))
        said = ended.communicate()[1]
    assert ended.returncode == 2
    assert f"[berth]metrics_port: port {port} of 127.0.0.1 can't be opened" in said
