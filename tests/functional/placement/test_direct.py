"""The service inside a client's process (rest-api.md 7.6, architecture.rst D12)."""

import ast
import concurrent.futures
import contextlib
import http.client
import socket
import threading
import uuid

import pytest
import requests
import sqlalchemy.exc
import urllib3
import wsgi_intercept
from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session

from placement import config, microversions
from placement.direct import PlacementDirect
from tests.patience import PATIENCE
from tests.service_settings import UNTIMED

NEWEST = f"placement {microversions.name(microversions.NEWEST)}"


def configuration(url, **options):
    """Return a configuration with defaults, this database, and options named `group__option`."""
    overrides = {
        ("placement_database", "connection"): url,
        ("placement_database", "sync_on_startup"): True,
    }
    overrides |= UNTIMED | {tuple(name.split("__")): value for name, value in options.items()}
    return config.load(files=[], environ=False, overrides=overrides)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "placement.db"


@pytest.fixture
def conf(path):
    return configuration(f"sqlite:///{path}")


@pytest.fixture
def client(conf):
    with PlacementDirect(conf) as client:
        yield client


def test_the_client_is_an_adapter_for_placement(client):
    assert isinstance(client, Adapter)
    assert client.service_type == "placement"


def test_no_status_is_an_exception(client):
    assert client.get("/resource_providers/nonsense").status_code == 404


def test_it_opens_no_socket(no_sockets, conf):
    with PlacementDirect(conf) as client:
        statuses = [
            client.get("/").status_code,
            client.post("/resource_providers", json={"name": "a"}).status_code,
            client.get("/resource_providers").status_code,
            client.put("/traits/CUSTOM_A", microversion="1.6").status_code,
            client.delete("/traits/CUSTOM_A", microversion="1.6").status_code,
        ]
    assert statuses == [200, 201, 200, 201, 204]


def test_proxies_of_the_environment_are_not_used(no_sockets, conf, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with PlacementDirect(conf) as client:
        assert client.get("/").status_code == 200


def test_links_begin_with_the_mount_point(client):
    client.post("/resource_providers", json={"name": "a"})
    (provider,) = client.get("/resource_providers").json()["resource_providers"]
    assert provider["links"][0]["href"] == f"/placement/resource_providers/{provider['uuid']}"


def test_locations_have_a_host_name_of_their_own(client):
    key = str(uuid.uuid4())
    answer = client.post("/resource_providers", json={"name": "a", "uuid": key})
    base = client.get_endpoint()
    host = base.removeprefix("http://").removesuffix("/placement")
    assert str(uuid.UUID(host)) == host
    assert answer.headers["location"] == f"{base}/resource_providers/{key}"


def version_of(answer):
    return answer.headers["openstack-api-version"]


def test_requests_have_the_oldest_version(client):
    assert version_of(client.get("/resource_providers")) == "placement 1.0"


def test_a_call_may_name_its_version(client):
    assert version_of(client.get("/traits", microversion="1.30")) == "placement 1.30"


def test_requests_have_the_newest_version_if_requested(conf):
    with PlacementDirect(conf, latest_microversion=True) as client:
        assert version_of(client.get("/traits")) == NEWEST


@pytest.mark.parametrize(
    "call",
    [
        {"microversion": "1.30"},
        {"headers": {"OpenStack-API-Version": "placement 1.30"}},
        {"headers": {"openstack-api-version": "placement 1.30"}},
    ],
)
def test_a_call_s_version_overrides_the_newest(conf, call):
    with PlacementDirect(conf, latest_microversion=True) as client:
        assert version_of(client.get("/traits", **call)) == "placement 1.30"


def test_the_caller_may_reshape(client):
    body = {"inventories": {}, "allocations": {}}
    answer = client.post("/reshaper", json=body, microversion="1.30")
    assert (answer.status_code, "inventories" in answer.text) == (400, True)


def test_a_call_may_use_another_identity(client):
    answer = client.get("/resource_providers", headers={"x-auth-token": "x", "x-roles": ""})
    assert answer.status_code == 403


def test_the_configured_authentication_is_not_used(path):
    conf = configuration(f"sqlite:///{path}", api__auth_strategy="keystone")
    with PlacementDirect(conf) as client:
        assert client.get("/resource_providers").status_code == 200
    assert conf.api.auth_strategy == "noauth2"


def test_it_can_read_its_configuration_itself(path):
    overrides = {
        ("placement_database", "connection"): f"sqlite:///{path}",
        ("placement_database", "sync_on_startup"): True,
    }
    direct = PlacementDirect.configured(
        files=[], environ=False, overrides=overrides, latest_microversion=True
    )
    with direct as client:
        assert version_of(client.get("/traits")) == NEWEST


def test_it_can_read_the_files_of_the_service(tmp_path, path):
    file = tmp_path / "placement.conf"
    file.write_text(
        f"[placement_database]\nconnection = sqlite:///{path}\nsync_on_startup = true\n"
    )
    with PlacementDirect.configured(files=[str(file)], environ=False) as client:
        assert client.get("/resource_providers").status_code == 200


def test_the_service_starts_at_the_first_request(conf, path):
    with PlacementDirect(conf) as client:
        before = path.exists()
        client.get("/")
        assert (before, path.exists()) == (False, True)


def test_an_unusable_database_is_an_error_of_the_first_request(tmp_path):
    conf = configuration(f"sqlite:///{tmp_path}/nowhere/placement.db")
    with PlacementDirect(conf) as client:
        for _ in range(2):
            with pytest.raises(sqlalchemy.exc.OperationalError):
                client.get("/")


def test_two_services_are_independent(new_database):
    with (
        PlacementDirect(configuration(new_database())) as one,
        PlacementDirect(configuration(new_database())) as other,
    ):
        one.post("/resource_providers", json={"name": "of one"})
        other.post("/resource_providers", json={"name": "of the other"})
        found = [
            [provider["name"] for provider in client.get(path).json()["resource_providers"]]
            for path in ("/resource_providers",)
            for client in (one, other)
        ]
    assert found == [["of one"], ["of the other"]]


def test_a_second_service_has_python_parse_nothing(new_database, monkeypatch):
    """Python 3.11 can fail at that while another thread writes a traceback."""

    def refuse(*_, **__):
        raise SystemError("AST constructor recursion depth mismatch")

    with PlacementDirect(configuration(new_database())) as first:
        assert first.get("/").status_code == 200
    monkeypatch.setattr(ast, "parse", refuse)
    with PlacementDirect(configuration(new_database())) as second:
        assert second.get("/").status_code == 200


def test_the_outer_service_still_works_after_the_inner_one_is_closed(conf, tmp_path):
    with PlacementDirect(conf) as outer:
        with PlacementDirect(configuration(f"sqlite:///{tmp_path}/inner.db")) as inner:
            inner.get("/")
        assert outer.get("/resource_providers").status_code == 200


def patchable():
    """Return what an implementation that patches modules would have to change."""
    modules = (http.client, urllib3.connection, urllib3.connectionpool, requests.sessions, socket)
    classes = (
        http.client.HTTPConnection,
        http.client.HTTPResponse,
        urllib3.connection.HTTPConnection,
        urllib3.connectionpool.HTTPConnectionPool,
        urllib3.connectionpool.HTTPSConnectionPool,
        urllib3.PoolManager,
        requests.Session,
        requests.adapters.HTTPAdapter,
        Session,
        Adapter,
    )
    facts = {(kind, name): value for kind in classes for name, value in vars(kind).items()}
    facts |= {(module, name): value for module in modules for name, value in vars(module).items()}
    return facts | {"intercepts": dict(wsgi_intercept._wsgi_intercept)}


def test_nothing_is_patched(conf):
    before = patchable()
    with PlacementDirect(conf) as client:
        client.get("/resource_providers")
        meanwhile = patchable()
    assert meanwhile == before


def test_other_requests_of_the_process_are_not_intercepted(client):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as nobody_answers:
        port = nobody_answers.getsockname()[1]
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.1:{port}/resource_providers", timeout=PATIENCE)
    assert client.get("/resource_providers").status_code == 200


def test_after_its_close_requests_fail(conf):
    with PlacementDirect(conf) as client:
        client.get("/")
    with pytest.raises(ksa_exc.ConnectFailure, match="This PlacementDirect is closed"):
        client.get("/")


def test_at_its_close_the_database_is_one_file(conf, path, tmp_path):
    with PlacementDirect(conf) as client:
        client.post("/resource_providers", json={"name": "a"})
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_after_its_close_nothing_uses_the_database(path, caplog):
    """Between two audits its thread waits for long, and it doesn't wait any longer."""
    conf = configuration(f"sqlite:///{path}", berth__snapshot_audit_interval=10_000)
    before = set(threading.enumerate())
    with PlacementDirect(conf, latest_microversion=True) as client:
        client.get("/allocation_candidates?resources=VCPU:1")
        (audits,) = set(threading.enumerate()) - before
    assert not audits.is_alive()

    path.unlink()
    assert "audit" not in caplog.text


def test_an_exception_closes_it_too_and_propagates(conf, path, tmp_path):
    def fail(client):
        client.post("/resource_providers", json={"name": "a"})
        raise KeyError

    with pytest.raises(KeyError), PlacementDirect(conf) as client:
        fail(client)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_it_can_be_opened_again(conf):
    direct = PlacementDirect(conf)
    with direct as client:
        client.put("/traits/CUSTOM_KEPT", microversion="1.6")
    with direct as client:
        assert client.get("/traits/CUSTOM_KEPT", microversion="1.6").status_code == 204


def test_it_can_be_closed_unused(conf, path):
    with PlacementDirect(conf):
        pass
    assert not path.exists()


def test_threads_share_it(client):
    def create(number):
        return client.post("/resource_providers", json={"name": f"p{number}"}).status_code

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(create, range(24)))
    found = client.get("/resource_providers").json()["resource_providers"]
    assert (statuses, len(found)) == ([201] * 24, 24)


def test_storing_standard_names_can_be_turned_off(new_database):
    url = new_database(empty=True)
    with PlacementDirect(configuration(url), store_standard_names=False) as client:
        found = client.get("/traits", microversion="1.6").json()["traits"]
    assert found == []
