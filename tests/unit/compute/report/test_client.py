"""The report client as a whole: its construction, and answers that aren't placement's."""

from types import SimpleNamespace

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import config
from compute.report import SchedulerReportClient, report_client_singleton
from compute.report import client as client_module
from tests.unit.compute.report.answers import FakeAdapter, answer, listed, row, sent_body


def placement(**options):
    """Load the compute configuration with these options in group [placement] of a file."""
    environ = {f"OS_PLACEMENT__{name.upper()}": value for name, value in options.items()}
    return config.load(files=[], environ=environ)


@pytest.fixture
def no_singleton(monkeypatch):
    monkeypatch.setattr(client_module, "_singleton", None)


@pytest.mark.usefixtures("no_singleton")
def test_there_is_one_client_per_process():
    first = report_client_singleton(conf=placement(endpoint_override="http://127.0.0.1:1"))
    assert report_client_singleton() is first


@pytest.mark.usefixtures("no_singleton")
def test_a_client_that_cant_be_made_is_explained_and_not_remembered(caplog):
    with pytest.raises(ksa_exc.NoMatchingPlugin):
        report_client_singleton(conf=placement(auth_type="clairvoyance"))
    assert "check [placement]" in caplog.text
    assert report_client_singleton(conf=placement(auth_type="none")) is not None


@pytest.mark.parametrize("text", ["<html>Welcome</html>", '{"resource_prov', "[]"])
@pytest.mark.parametrize("verb", ["get", "post", "put", "delete"])
def test_a_success_that_is_not_placements_is_a_client_exception(text, verb):
    client = SchedulerReportClient(FakeAdapter(answer(200, text=text)))
    body = () if verb in ("get", "delete") else ({},)
    with pytest.raises(ksa_exc.ClientException):
        getattr(client, verb)("/traits", *body)


def test_an_error_may_say_what_it_likes():
    client = SchedulerReportClient(FakeAdapter(answer(502, text="<html>Bad gateway</html>")))
    assert client.get("/traits").status_code == 502


def test_a_client_without_configuration_has_the_defaults():
    client = SchedulerReportClient(FakeAdapter())
    assert client.conf.compute.resource_provider_association_refresh == 300
    assert client.conf.compute.sharing_providers_max_uuids_per_request == 200


def test_the_contexts_global_id_goes_with_every_request(make):
    client = make(listed(), answer(201, row("u")))
    client.get_provider_tree_and_ensure_root(SimpleNamespace(global_id="req-global"), "u")
    assert {
        sent[2]["headers"]["X-Openstack-Request-Id"] for sent in client.transport.adapter.sent
    } == {"req-global"}


def test_a_missing_endpoint_clears_the_cache(make):
    client = make(listed(), answer(201, row("u")), ksa_exc.EndpointNotFound())
    client.get_provider_tree_and_ensure_root(None, "u")
    client.invalidate_resource_provider("u", cacheonly=True)
    with pytest.raises(ksa_exc.EndpointNotFound):
        client.get_provider_tree_and_ensure_root(None, "u")
    assert client.cache.tree.get_provider_uuids() == []
    assert client.cache.read_at == {}


@pytest.mark.usefixtures("no_singleton")
def test_arguments_that_nova_doesnt_take_by_position_may_be_given_so(make):
    made = make(listed(), answer(201, row("u")))
    made.get_provider_tree_and_ensure_root(None, "u", "a-name", None)
    assert sent_body(made)["name"] == "a-name"
    conf, naps = placement(endpoint_override="http://127.0.0.1:1"), []
    client = SchedulerReportClient(FakeAdapter(), conf, naps.append)
    client.transport.sleep(1)
    assert (client.conf, naps) == (conf, [1])
    assert report_client_singleton(conf).conf is conf
