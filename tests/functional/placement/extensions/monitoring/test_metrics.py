"""GET /metrics: what is counted, what the cloud has, and who may read it (extensions.md 8)."""

import os

import pytest
import sqlalchemy as sa
from oslo_config import cfg
from prometheus_client.parser import text_string_to_metric_families
from werkzeug.test import EnvironBuilder

from placement.errors import PlacementError, kinds_of
from placement.extensions.monitoring import cloud
from placement.extensions.monitoring.counting import VARIABLE, Counting
from placement.extensions.monitoring.page import page as page_of
from placement.metrics.families import OTHER, STATUSES
from tests.document import written
from tests.functional.placement.extensions.monitoring.pages import NEIGHBOUR, page, samples, value
from tests.functional.placement.small_cloud import EMPTY, NEW, ROOT, fill, holding, stock

pytestmark = pytest.mark.spread_over_databases

#: the families of the specification, without those of the page of providers
FAMILIES = {
    *("placement_build_info", "placement_http_requests", "placement_http_requests_in_progress"),
    *("placement_http_request_duration_seconds", "placement_db_statements"),
    *("placement_db_retries", "placement_db_pool_connections", "placement_conflicts"),
    *("placement_candidates_search_duration_seconds", "placement_candidates_returned"),
    *("placement_candidates_empty", "placement_snapshot_providers", "placement_snapshot_bytes"),
    *("placement_snapshot_loads", "placement_snapshot_refresh_duration_seconds"),
    *("placement_snapshot_audits", "placement_resource_inventory", "placement_resource_reserved"),
    *("placement_resource_capacity", "placement_resource_used", "placement_providers"),
    *("placement_providers_over_capacity", "placement_consumers", "placement_suspects"),
    "placement_trees_drained",
}


def test_the_page_has_every_family_of_the_specification(counted):
    found = text_string_to_metric_families(page(counted).text)
    assert {family.name for family in found} == FAMILIES


def test_requests_are_counted_by_method_template_and_status(counted):
    fill(counted)
    before = page(counted)
    counted.get(f"/resource_providers/{ROOT}")
    counted.get(f"/resource_providers/{NEW}")
    counted.get("/no/such/path")
    counted.client.get("/traits")
    after = page(counted)
    provider = {"method": "GET", "route": "/resource_providers/{uuid}"}
    unmatched = {"method": "GET", "route": "unmatched"}
    for labels in (
        provider | {"status": "200"},
        provider | {"status": "404"},
        unmatched | {"status": "404"},
        unmatched | {"status": "401"},
    ):
        name = "placement_http_requests_total"
        assert value(after, name, **labels) == value(before, name, **labels) + 1, labels
    count = "placement_http_request_duration_seconds_count"
    assert value(after, count, **provider) == value(before, count, **provider) + 2
    assert value(after, "placement_http_requests_in_progress") == 1


def test_methods_and_paths_of_clients_make_no_series(counted):
    page(counted)
    size = len(samples(page(counted)))
    for number in range(30):
        counted.client.open(f"/path{number}", method=f"M{number}")
    found = samples(page(counted))
    # one counter and one histogram, of `other` methods
    assert len(found) - size == 1 + 16
    assert not any("path" in str(labels) for _, labels in found)


def test_every_status_that_the_service_gives_is_told_apart(counted):
    assert counted.client.get("/berth/v1/ui").status_code == 308
    redirect = {"method": "GET", "route": "/berth/v1/ui/", "status": "308"}
    assert value(page(counted), "placement_http_requests_total", **redirect) == 1
    paths = written()["paths"].values()
    told = {status for path in paths for each in path.values() for status in each["responses"]}
    assert {"204", "409"} < told
    assert told | {str(kind.status) for kind in kinds_of(PlacementError)} <= {*STATUSES}


def test_a_probe_is_counted_once_whoever_answers_it(new_service, counting):
    service = new_service(
        counting=counting, healthcheck__allowed_source_ranges=["192.0.2.0/24", "127.0.0.1"]
    )
    probe = {"method": "GET", "route": "/healthcheck"}
    for address in ("192.0.2.1", "198.51.100.1"):
        service.client.get("/healthcheck", environ_overrides={"REMOTE_ADDR": address})
    shown = page(service)
    for status in ("200", "401"):
        assert value(shown, "placement_http_requests_total", status=status, **probe) == 1
    assert value(shown, "placement_http_request_duration_seconds_count", **probe) == 2
    unmatched = {"method": "GET", "route": "unmatched", "status": "401"}
    assert value(shown, "placement_http_requests_total", **unmatched) == 0
    assert value(shown, "placement_http_requests_in_progress") == 1


def test_conflicts_are_counted_by_their_code(counted):
    body = {"name": "twice"}
    counted.post("/resource_providers", body)
    assert counted.post("/resource_providers", body).status_code == 409
    code = "placement.duplicate_name"
    assert value(page(counted), "placement_conflicts_total", code=code) == 1


def test_searches_are_counted_with_what_they_found(counted):
    fill(counted)
    for query in ("resources=VCPU:1", "resources=VCPU:99999", "resources=CUSTOM_NONE:1"):
        counted.get(f"/allocation_candidates?{query}")
    shown = page(counted)
    assert value(shown, "placement_candidates_search_duration_seconds_count") == 2
    assert value(shown, "placement_candidates_empty_total", reason="group") == 1
    assert value(shown, "placement_candidates_returned_bucket", le="0.0") == 1
    assert value(shown, "placement_snapshot_loads_total", cause="first_use") == 1
    assert value(shown, "placement_snapshot_providers") == value(
        shown, "placement_providers", kind="root"
    ) + value(shown, "placement_providers", kind="nested") + value(
        shown, "placement_providers", kind="sharing"
    )
    assert value(shown, "placement_snapshot_bytes") > 0
    counted.running.snapshot.audit_in_background()
    assert value(page(counted), "placement_snapshot_audits_total", result="same") == 1


def test_statements_retries_and_connections_are_counted(counted, monkeypatch):
    before = page(counted)
    counted.get("/resource_classes")
    counted.get("/traits/MISC_SHARES_VIA_AGGREGATE")
    after = page(counted)
    name = "placement_db_statements_total"
    assert value(after, name) > value(before, name)
    counted.database._tally.retried("deadlock")
    assert value(page(counted), "placement_db_retries_total", cause="deadlock") == 1
    assert value(after, "placement_db_pool_connections", state="in_use") == 0
    assert value(after, "placement_db_pool_connections", state="idle") >= 1
    # what a request sends is told with its answer
    sent = counted.database.statements
    counted.get("/resource_classes")
    more = counted.database.statements - sent
    between = value(page(counted), name) - value(after, name)
    assert more > 0
    assert between >= more


def test_a_connection_in_use_is_counted_while_it_is(counted):
    name = "placement_db_pool_connections"

    def shown(_):
        found = page(counted)
        return value(found, name, state="in_use"), value(found, name, state="idle")

    counted.get("/resource_classes")
    idle = shown(None)[1]
    # the page reads the database, too, with a connection of its own
    assert counted.database.read(shown)[0] == 1
    assert shown(None)[0] == 0
    with pytest.raises(ZeroDivisionError):
        counted.database.read(lambda _: 1 / 0)
    assert shown(None) == (0, max(idle, 2))


def test_the_figures_of_the_cloud_are_sums_of_what_the_api_says(counted):
    fill(counted)
    counted.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    expected = {"inventory": {}, "reserved": {}, "capacity": {}, "used": {}}
    providers = counted.get("/resource_providers").json["resource_providers"]
    for provider in providers:
        path = f"/resource_providers/{provider['uuid']}"
        inventories = counted.get(f"{path}/inventories").json["inventories"]
        usages = counted.get(f"{path}/usages").json["usages"]
        for name, record in inventories.items():
            capacity = int((record["total"] - record["reserved"]) * record["allocation_ratio"])
            for kind, amount in (
                ("inventory", record["total"]),
                ("reserved", record["reserved"]),
                ("capacity", capacity),
                ("used", usages[name]),
            ):
                expected[kind][name] = expected[kind].get(name, 0) + amount
    shown = page(counted)
    for kind, amounts in expected.items():
        assert amounts
        for name, amount in amounts.items():
            found = value(shown, f"placement_resource_{kind}", resource_class=name)
            assert (kind, name, found) == (kind, name, amount)
    assert value(shown, "placement_consumers", consumer_type="INSTANCE") >= 1


def test_providers_above_their_capacity_are_counted(counted):
    fill(counted)
    counted.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 2}}))
    path = f"/resource_providers/{ROOT}/inventories/VCPU"
    stock = counted.get(path).json
    counted.put(path, stock | {"total": 2, "reserved": 1, "allocation_ratio": 1.0})
    shown = page(counted)
    assert value(shown, "placement_providers_over_capacity", resource_class="VCPU") == 1


def test_a_device_for_one_use_that_is_in_use_is_not_above_its_capacity(counted):
    fill(counted)
    counted.put(f"/resource_providers/{EMPTY}/inventories", stock(0, PGPU=1))
    traits = {"traits": ["HW_PCI_ONE_TIME_USE"], "resource_provider_generation": 1}
    counted.put(f"/resource_providers/{EMPTY}/traits", traits)
    counted.put(f"/allocations/{NEW}", holding({EMPTY: {"PGPU": 1}}))
    path = f"/resource_providers/{EMPTY}/inventories/PGPU"
    # its agent keeps it back for as long as it isn't clean
    counted.put(path, counted.get(path).json | {"reserved": 1})
    shown = page(counted)
    assert value(shown, "placement_resource_used", resource_class="PGPU") == 1
    assert value(shown, "placement_providers_over_capacity", resource_class="PGPU") == 0


def test_a_host_of_which_everything_is_reserved_is_drained_and_no_fault(counted):
    fill(counted)
    counted.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 2}}))
    assert value(page(counted), "placement_trees_drained") == 0
    tree = counted.get(f"/resource_providers?in_tree={ROOT}").json["resource_providers"]
    for row in tree:
        path = f"/resource_providers/{row['uuid']}/inventories"
        for name, record in counted.get(path).json["inventories"].items():
            known = counted.get(f"{path}/{name}").json
            counted.put(f"{path}/{name}", known | {"reserved": record["total"]})
    shown = page(counted)
    assert value(shown, "placement_trees_drained") == 1
    assert value(shown, "placement_providers_over_capacity", resource_class="VCPU") == 0


def test_a_snapshot_that_grew_takes_more_bytes(counted):
    counted.get("/allocation_candidates?resources=VCPU:1")
    before = value(page(counted), "placement_snapshot_bytes")
    fill(counted)
    shown = page(counted)
    assert value(shown, "placement_snapshot_bytes") > before
    assert value(shown, "placement_snapshot_loads_total", cause="first_use") == 1


def test_what_is_allocated_without_an_inventory_is_over_capacity(counted):
    fill(counted)
    counted.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 2}}))
    before = page(counted)
    with counted.database.engine.begin() as connection:
        provider = "SELECT id FROM resource_providers WHERE uuid = :uuid"
        connection.execute(
            sa.text(f"DELETE FROM inventories WHERE resource_provider_id = ({provider})"),
            {"uuid": ROOT},
        )
    counted.running.snapshot.audit_in_background()
    after = page(counted)
    for name, more in (("placement_resource_used", 0), ("placement_providers_over_capacity", 1)):
        assert value(after, name, resource_class="VCPU") == (
            value(before, name, resource_class="VCPU") + more
        ), name


def test_many_consumer_types_are_one_series():
    counts = {f"T{number:03}": number for number in range(150)}
    found = cloud.bounded(counts)
    assert len(found) == cloud.MOST_TYPES + 1
    assert sum(found.values()) == sum(counts.values())
    assert (found["T149"], found[OTHER]) == (149, sum(range(50)))


@pytest.mark.parametrize(
    ("address", "header", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("127.8.0.1", {}, 200),
        ("::1", {}, 200),
        ("::ffff:127.0.0.1", {}, 200),
        ("192.0.2.1", {}, 403),
        ("localhost", {}, 403),
        ("", {}, 403),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 403),
        ("127.0.0.1", {"Forwarded": "for=127.0.0.1"}, 403),
        ("127.0.0.1", {"Via": "1.1 proxy"}, 403),
        ("127.0.0.1", {"X-Real-IP": "127.0.0.1"}, 403),
        ("127.0.0.1", {"X-Forwarded-Server": "proxy"}, 403),
        ("127.0.0.1", {"X-Envoy-Expected-Rq-Timeout-Ms": "15000"}, 403),
        ("127.0.0.1", {"CDN-Loop": "somewhere"}, 403),
    ],
)
def test_only_direct_neighbours_read_metrics_without_a_token(counted, address, header, status):
    found = page(counted, neighbour={"REMOTE_ADDR": address}, headers=header)
    assert found.status_code == status
    if status == 403:
        assert "[berth]metrics" in found.text
        assert "placement_" not in found.text


def test_other_neighbours_may_be_allowed(new_service, counting):
    service = new_service(
        counting=counting, berth__metrics_allowed_source_ranges=["192.0.2.0/24", "2001:db8::1"]
    )
    for address, status in (("192.0.2.9", 200), ("2001:db8::1", 200), ("127.0.0.1", 403)):
        assert page(service, neighbour={"REMOTE_ADDR": address}).status_code == status


def test_a_range_that_is_none_is_refused_at_the_start(new_service, counting):
    with pytest.raises(cfg.Error, match="metrics_allowed_source_ranges: 'here'"):
        new_service(counting=counting, berth__metrics_allowed_source_ranges=["here"])
    # what was begun is closed
    assert counting.meter.slot is None


@pytest.mark.parametrize("metrics", ["off", "token"])
def test_without_a_token_metrics_are_not_there_unless_addresses_are_allowed(
    new_service, counting, metrics
):
    service = new_service(counting=counting, berth__metrics=metrics)
    assert page(service).status_code == 401
    if metrics == "off":
        assert service.get("/metrics").status_code == 404


def test_with_a_token_policy_decides(new_service, counting):
    service = new_service(counting=counting, berth__metrics="token")
    for path in ("/metrics", "/metrics/providers"):
        assert service.client.get(path).status_code == 401
        shown = service.get(path, headers_more={"x-forwarded-for": "192.0.2.1"})
        assert samples(shown)
        assert shown.content_type.startswith("text/plain")
    refused = service.get("/metrics", headers_more={"x-roles": "reader", "x-auth-token": "someone"})
    assert refused.status_code == 403


@pytest.mark.parametrize("path", ["/metrics", "/metrics/providers"])
def test_head_has_no_body_and_nothing_can_be_written(counted, path):
    refused = {"X-Forwarded-For": "192.0.2.1"}
    for method, headers, status in (
        ("HEAD", {}, 200),
        ("HEAD", refused, 403),
        ("POST", {}, 405),
        ("FOO" * 100, {}, 405),
    ):
        made = {"method": method, "headers": headers, "environ_overrides": NEIGHBOUR}
        found = counted.client.open(path, **made)
        assert (method, found.status_code) == (method, status)
        # a body would be taken for the next answer of the connection
        assert method != "HEAD" or raw_body(counted, path, headers) == b""
        assert status != 405 or (found.headers["Allow"], found.data) == ("GET, HEAD", b"")


def raw_body(service, path, headers):
    """Return what the application sends for HEAD; the client of the tests would drop it."""
    environ = EnvironBuilder(path, method="HEAD", headers=headers).get_environ()
    return b"".join(service.running.application(environ | NEIGHBOUR, lambda *_: None))


def test_a_page_that_a_killed_worker_cut_off_is_known_by_its_length(counted):
    shown = page(counted)
    assert int(shown.headers["content-length"]) == len(shown.data) > 1_000
    packed = page(counted, headers={"accept-encoding": "gzip"})
    assert int(packed.headers["content-length"]) == len(packed.data) < len(shown.data)


def test_some_names_may_be_chosen(counted):
    counted.get("/resource_classes")
    everything = samples(page(counted))
    names = (
        "placement_build_info",
        "placement_http_requests_total",
        "placement_resource_inventory",
    )
    chosen = samples(page(counted, "/metrics?" + "&".join(f"name[]={name}" for name in names)))
    assert {name for name, _ in chosen} == {*names[:2]}
    assert set(samples(page(counted))) >= set(everything)
    assert samples(page(counted, "/metrics?name[]=nothing")) == {}


def test_a_service_that_counts_nothing_has_no_page(service):
    assert page(service).status_code == 401
    assert service.get("/metrics").status_code == 404


def test_a_closed_service_answers_and_shows_nothing_that_was_counted(counted):
    fill(counted)
    counted.close()
    assert counted.get(f"/resource_providers/{ROOT}").status_code == 200
    after = samples(page(counted))
    assert after["placement_db_statements_total", ()] == 0
    assert value(page(counted), "placement_providers", kind="root") > 0


def test_processes_that_share_nothing_say_who_they_are(new_service, layout, caplog):
    caplog.set_level("INFO")
    counting = Counting.under_other_servers(layout, {})
    service = new_service(counting=counting)
    service.get("/resource_classes")
    labels = {"method": "GET", "route": "/resource_classes", "status": "200"}
    shown = page(service)
    pid = str(os.getpid())
    assert value(shown, "placement_http_requests_total", pid=pid, **labels) == 1
    assert VARIABLE in caplog.text


def test_a_folder_joins_the_processes_of_other_servers(new_service, layout, tmp_path):
    environ = {VARIABLE: str(tmp_path)}
    both = [Counting.under_other_servers(layout, environ) for _ in range(2)]
    services = [new_service(counting=each) for each in both]
    for service in services:
        service.get("/resource_classes")
    labels = {"method": "GET", "route": "/resource_classes", "status": "200"}
    for service in services:
        assert value(page(service), "placement_http_requests_total", **labels) == 2
    assert len(list(tmp_path.glob("*.metrics"))) == 1


def test_a_folder_that_is_not_there_is_told_and_takes_no_request_away(layout, tmp_path, caplog):
    missing = {VARIABLE: str(tmp_path / "missing")}
    assert Counting.under_other_servers(layout, missing) is None
    assert "There are no metrics" in caplog.text


def test_the_page_is_answered_while_the_database_is_not(counted):
    fill(counted)
    before = page(counted)

    def refuse():
        raise RuntimeError("the database is away")

    silent = cloud.CloudMetrics(counted.database, refuse, patience=0.1)
    shown = page_of([silent])
    collected = []
    request = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics"}
    shown(request, lambda *given: collected.append(given))
    assert collected[0][0] == "200 OK"
    assert value(before, "placement_providers", kind="root") > 0
