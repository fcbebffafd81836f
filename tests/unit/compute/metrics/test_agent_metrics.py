"""What the agent counts: kinds of failures, requests, and nodes that come and go."""

import pytest
from keystoneauth1 import exceptions as ksa_exc
from prometheus_client.parser import text_string_to_metric_families

from compute import exceptions
from compute.metrics.agent import KINDS, AgentMetrics, kind_of

LAST = "berth_compute_last_good_update_timestamp_seconds"


def shown(metrics):
    """Series → value, as the page has them."""
    told = metrics.page({"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics"}, lambda *a: None)
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(b"".join(told).decode())
        for sample in family.samples
    }


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (exceptions.ReshapeNeeded(), "reshape"),
        (exceptions.PlacementReshapeConflict(error="moved on"), "reshape"),
        (exceptions.ResourceProviderUpdateConflict(uuid="x", generation=1, error="y"), "conflict"),
        (exceptions.VirtDriverNotReady(), "driver"),
        (exceptions.InvalidConfiguration(), "configuration"),
        (exceptions.PlacementAPIConnectFailure(), "unreachable"),
        (ksa_exc.ConnectFailure("nobody there"), "unreachable"),
        (ksa_exc.Unauthorized(), "refused"),
        (ValueError("no"), "other"),
    ],
)
def test_each_failure_has_one_of_few_kinds(failure, kind):
    assert kind_of(failure) == kind
    metrics = AgentMetrics()
    metrics.update_failed(failure)
    counted = shown(metrics)
    name = "berth_compute_update_failures_total"
    assert {one: counted[name, one] for one in KINDS} == {one: one == kind for one in KINDS}
    assert counted["berth_compute_reshapes_total", "failed"] == (kind == "reshape")


def test_a_node_that_is_gone_has_no_series_and_its_name_may_be_anything():
    metrics = AgentMetrics(clock=lambda: 1700000000.5)
    hostile = 'a"} 1\nb\\'
    metrics.node_updated(hostile, reshaped=True)
    metrics.node_updated("gone", reshaped=False)
    metrics.nodes_listed({hostile, "never updated"})
    counted = shown(metrics)
    assert {key: counted[key] for key in counted if key[0] == LAST} == {
        (LAST, hostile): 1700000000.5
    }
    assert counted["berth_compute_reshapes_total", "done"] == 1


def test_methods_and_statuses_make_few_series():
    metrics = AgentMetrics()
    for method, status in [("GET", 200), ("GET", None), ("BREW", 1418)]:
        metrics.request(method, status)
    name = "berth_compute_placement_requests_total"
    counted = {key[1:] for key in shown(metrics) if key[0] == name}
    assert counted == {("GET", "200"), ("GET", "none"), ("other", "other")}
