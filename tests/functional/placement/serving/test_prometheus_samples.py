"""contrib/prometheus and contrib/grafana: alerts that fire, and a dashboard that has figures."""

import html
import json
import re
import socket
import subprocess

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from compute.cli.commands.audit_rounds import KINDS
from compute.metrics.agent import AgentMetrics
from compute.metrics.audit import AuditMetrics
from placement.app import metrics_layout
from placement.extensions.monitoring import port
from placement.extensions.monitoring.provider_query import FAMILIES
from placement.extensions.monitoring.survivable import BY, VERDICTS
from tests.functional.placement.serving.conftest import ROOT, starting
from tests.functional.placement.serving.programs import free_port, needed, wait_until
from tests.functional.placement.serving.prometheus import watching
from tests.functional.placement.serving.test_metrics import COMMAND, scraped
from tests.functional.placement.small_cloud import holding, stock
from tests.page_code import text_of
from tests.patience import PATIENCE

RULES = ROOT / "contrib" / "prometheus"
DASHBOARD = json.loads((ROOT / "contrib" / "grafana" / "placement.json").read_text())
HOST = "11111111-1111-4111-8111-111111111111"
CONSUMER = "22222222-2222-4222-8222-222222222222"
PARTS = re.compile(r"_(bucket|sum|count)$")


def expressions():
    """Yield title and expression of everything that the dashboard shows."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


@pytest.mark.parametrize(
    ("what", "file"),
    [
        (("check", "rules"), "placement.rules.yml"),
        (("test", "rules"), "placement.rules.test.yml"),
        (("check", "config"), "prometheus.yml"),
    ],
    ids=" ".join,
)
def test_promtool_finds_no_fault(what, file):
    done = subprocess.run(
        [needed("promtool", "prometheus"), *what, file],
        cwd=RULES,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return a service that has answered whatever the dashboard shows."""
    port = free_port()
    with pytest.MonkeyPatch.context() as patch:
        # a metric that is off by default
        patch.setenv("OS_BERTH__SURVIVES_INTERVAL", "3600")
        yield from _served(tmp_path_factory, port)


def _served(tmp_path_factory, port):
    with starting(tmp_path_factory.mktemp("dashboard")) as start:
        server = start([*COMMAND, "--port", str(port)], f"http://127.0.0.1:{port}")
        body = {"name": "host", "uuid": HOST}
        assert server.request("POST", "/resource_providers", json=body).status_code == 200
        place = f"/resource_providers/{HOST}/inventories"
        assert server.request("PUT", place, json=stock(0, VCPU=8)).status_code == 200
        assert server.request("PUT", place, json=stock(0, VCPU=8)).status_code == 409
        body = holding({HOST: {"VCPU": 4}})
        assert server.request("PUT", f"/allocations/{CONSUMER}", json=body).status_code == 204
        yield server


@pytest.fixture(scope="module")
def counted():
    """Return what an agent and an audit count."""
    return AgentMetrics(), AuditMetrics(KINDS)


@pytest.fixture(scope="module")
def host(counted):
    """Return the address and port of a compute host that tells both."""
    agent, audit = counted

    def page(environ, start_response):
        plain = environ | {"HTTP_ACCEPT": "text/plain", "HTTP_ACCEPT_ENCODING": ""}
        of_agent = b"".join(agent.page(plain, lambda *_: None))
        start_response("200 OK", [("content-type", "text/plain; version=0.0.4")])
        return [of_agent, audit.text()]

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        port.serve(listener, {"/metrics": page})
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(scope="module")
def prometheus(served, host, tmp_path_factory):
    with watching(served.url, tmp_path_factory.mktemp("prometheus"), host) as running:
        yield running


def work(server):
    """Have the service count what rates are made of."""
    assert server.request("GET", "/allocation_candidates?resources=VCPU:1").status_code == 200
    assert server.request("GET", "/allocation_candidates?resources=VCPU:99").status_code == 200
    place = f"/resource_providers/{HOST}/inventories"
    assert server.request("PUT", place, json=stock(0, VCPU=8)).status_code == 409


def work_on_host(agent, audit):
    """Have a compute host count an update that went well, and one that didn't."""
    agent.request("GET", 200)
    agent.update_ended(0.2)
    agent.update_failed(ConnectionError("no route"))
    agent.node_updated("host", reshaped=True)
    audit.ended(0.1, {"gone": 1}, {"lacking": 1})


def test_everything_on_the_dashboard_has_figures(served, counted, prometheus):
    wait_until(lambda: prometheus.number("placement_build_info") == 1, served.said)
    wanted = [
        expression.replace("$__rate_interval", "1m").replace("$instance", ".*")
        for _, expression in expressions()
    ]
    missing = list(wanted)

    def all_found():
        work(served)
        work_on_host(*counted)
        missing[:] = [expression for expression in missing if not prometheus.found(expression)]
        return not missing

    wait_until(all_found, lambda: missing)


def test_every_name_in_rules_and_dashboard_is_a_metric(served, counted, host):
    work(served)
    work_on_host(*counted)
    pages = [
        *scraped(served.url),
        *scraped(served.url, "/metrics/providers"),
        *scraped(f"http://{host}"),
    ]
    page = {PARTS.sub("", series.partition("{")[0]) for series in pages}
    shown = " ".join(expression for _, expression in expressions())
    rules = (RULES / "placement.rules.yml").read_text()

    named = set(re.findall(r"\b(?:(?:openstack_)?placement|berth)_[a-z_]+", shown + rules))

    # an interval of the operator's own brings it
    on_demand = {"placement_survivable_sets"}
    assert {PARTS.sub("", name) for name in named} - page == on_demand
    explained = text_of("monitoring.rst")
    assert [name for name in named if f"``{PARTS.sub('', name)}``" not in explained] == []


def test_every_metric_of_all_pages_is_explained(served, counted, host):
    work_on_host(*counted)
    everything = "/metrics/providers?families=" + ",".join(FAMILIES)
    urls = (f"{served.url}/metrics", served.url + everything, f"http://{host}/metrics")
    pages = "".join(requests.get(url, timeout=PATIENCE).text for url in urls)
    # when counting began: prometheus-client adds it to each counter and histogram
    found = [name for name in re.findall(r"^# TYPE (\w+)", pages, re.M) if name[-8:] != "_created"]

    assert len(found) > 40
    explained = text_of("monitoring.rst")
    assert [name for name in found if f"``{name}``" not in explained] == []


def known_labels():
    """Return the values of labels, by name of the metric and of the label."""
    found = {family.name: dict(family.labels) for family in metrics_layout().families}
    found["placement_survivable_sets"] = {"by": BY, "verdict": VERDICTS}
    agent, audit = AgentMetrics(), AuditMetrics(KINDS)
    audit.ended(1.0, {}, {})
    for text in (_text(agent.page), audit.text().decode()):
        for family in text_string_to_metric_families(text):
            labels = found.setdefault(family.name, {})
            for sample in family.samples:
                for name, value in sample.labels.items():
                    labels[name] = {*labels.get(name, ()), value}
    return found


def _text(page):
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics"}
    return b"".join(page(environ, lambda *_: None)).decode()


def test_labels_of_rules_and_dashboard_have_values_that_exist():
    known = known_labels()
    shown = "\n".join(expression for _, expression in expressions())
    rules = (RULES / "placement.rules.yml").read_text()
    compared = 0
    for metric, inside in re.findall(r"\b((?:placement|berth)_\w+)\{([^}]*)\}", rules + shown):
        labels = known.get(PARTS.sub("", metric.removesuffix("_total")), {})
        for label, _, text in re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', inside):
            if label in labels:
                for pattern in text.split("|"):
                    values = [one for one in labels[label] if re.fullmatch(pattern, one)]
                    assert values, (metric, label, pattern)
                    compared += 1
            else:
                assert label in ("job", "instance", "le", "resource_class", "kind"), (metric, label)
    assert compared >= 20


def test_every_alert_is_explained_and_no_other():
    alerts = re.findall(r"- alert: (\w+)", (RULES / "placement.rules.yml").read_text())
    tested = (RULES / "placement.rules.test.yml").read_text()

    explained = re.findall(
        r"^``((?:Placement|Compute|Alloc)\w+)``$", text_of("monitoring.rst"), re.M
    )

    assert sorted(explained) == sorted(alerts)
    assert [name for name in alerts if f'alertname="{name}"' not in tested] == []


def test_the_picture_has_every_panel_of_the_dashboard():
    """Drawn by `PYTHONPATH=. python doc/pictures`."""
    picture = (ROOT / "doc" / "pictures" / "dashboard.svg").read_text()
    shown = re.findall(r'class="(?:row|title)">(.*?)</text>', picture)
    titles = [panel["title"] for panel in DASHBOARD["panels"]]

    assert [html.unescape(title) for title in shown] == titles[: titles.index("Compute hosts")]


def test_panels_have_units_descriptions_and_a_data_source_to_choose():
    panels = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]

    assert all(panel["description"] and panel["title"] for panel in panels)
    assert all(panel["fieldConfig"]["defaults"]["unit"] for panel in panels)
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
