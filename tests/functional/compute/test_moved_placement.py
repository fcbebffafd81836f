"""Placement's address in keystone's catalogue changes while a client runs."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import config
from compute.report import SchedulerReportClient
from compute.report.wire import address
from tests.functional.placement.keystone_stub import SERVICE_PASSWORD, Keystone


class Catalogue(Keystone):
    """Tells with each token where placement is; `issued` counts tokens."""

    placement = None
    issued = 0

    def own_token(self):
        self.issued += 1
        found = super().own_token()
        endpoint = {"id": "p", "interface": "public", "region": "one", "region_id": "one"}
        service = {"id": "p", "type": "placement", "name": "placement"}
        found["catalog"].append(service | {"endpoints": [endpoint | {"url": self.placement}]})
        return found


class Site(ThreadingHTTPServer):
    """Answers below `/placement` with its name, or with another service's 404."""

    daemon_threads = True

    def __init__(self, name):
        super().__init__(("127.0.0.1", 0), _Answering)
        self.name = name
        self.is_placement = True
        self.url = f"http://127.0.0.1:{self.server_port}/placement"


class _Answering(BaseHTTPRequestHandler):
    def do_GET(self):
        traits = {"traits": [f"CUSTOM_{self.server.name}"]}
        is_there = self.server.is_placement
        body = json.dumps(traits).encode() if is_there else b"<html>Not Found</html>"
        self.send_response(200 if is_there else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        """Log nothing."""


@contextlib.contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def keystone():
    with serving(Catalogue()) as keystone:
        yield keystone


@pytest.fixture
def sites():
    with serving(Site("OLD")) as old, serving(Site("NEW")) as new:
        yield old, new


@pytest.fixture
def client(keystone, sites):
    keystone.placement = sites[0].url
    options = {
        "auth_type": "password",
        "auth_url": f"{keystone.url}/v3",
        "username": "placement",
        "password": SERVICE_PASSWORD,
        "user_domain_id": "default",
        "project_name": "service",
        "project_domain_id": "default",
    }
    environ = {f"OS_PLACEMENT__{name.upper()}": value for name, value in options.items()}
    made = SchedulerReportClient(conf=config.load(files=[], environ=environ))
    yield made
    made.transport.adapter.session.session.close()


def who(client):
    return client.get("/traits", version="1.6").json()["traits"]


def test_after_a_lost_connection_placement_is_where_the_catalogue_has_it_now(
    client, keystone, sites, monkeypatch
):
    old, new = sites
    assert who(client) == ["CUSTOM_OLD"]
    client.cache.tree.new_root("known", "uuid", generation=1)
    keystone.placement = new.url
    client.transport.adapter.session.session.close()
    monkeypatch.setattr(old, "verify_request", lambda *unused: False)
    with pytest.raises(ksa_exc.ConnectFailure):
        who(client)
    assert who(client) == ["CUSTOM_NEW"]
    assert not client.cache.tree.exists("uuid")


def test_after_another_services_404_too(client, keystone, sites):
    old, new = sites
    assert who(client) == ["CUSTOM_OLD"]
    keystone.placement = new.url
    old.is_placement = False
    assert client.get("/traits", version="1.6").status_code == 404
    assert who(client) == ["CUSTOM_NEW"]


def test_after_a_reset_keystone_is_asked_even_if_placement_answers(client, keystone, sites):
    assert who(client) == ["CUSTOM_OLD"]
    keystone.placement = sites[1].url
    assert who(client) == ["CUSTOM_OLD"]
    client.clear_provider_cache()
    assert who(client) == ["CUSTOM_NEW"]


def test_while_placement_is_away_keystone_is_asked_seldom_and_nothing_is_forgotten(
    client, keystone, sites
):
    assert who(client) == ["CUSTOM_OLD"]
    client.cache.tree.new_root("known", "uuid", generation=1)
    sites[0].is_placement = False
    for _ in range(5):
        assert client.get("/traits", version="1.6").status_code == 404
    assert keystone.issued == 2
    sites[0].is_placement = True
    assert who(client) == ["CUSTOM_OLD"]
    assert client.cache.tree.exists("uuid")


def test_a_keystone_that_cannot_be_asked_leaves_the_address_as_it_is(
    client, keystone, sites, monkeypatch
):
    monkeypatch.setattr(address, "PAUSE", 0)
    assert who(client) == ["CUSTOM_OLD"]
    keystone.broken = True
    sites[0].is_placement = False
    assert client.get("/traits", version="1.6").status_code == 404
    sites[0].is_placement, keystone.broken = True, False
    assert who(client) == ["CUSTOM_OLD"]
