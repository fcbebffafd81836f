"""[profiler]: osprofiler's middleware around the service."""

import importlib.util
import logging

import pytest
from werkzeug.test import Client

from placement import app, config
from tests.service_settings import UNTIMED

HEADERS = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}
KEY = "s3cr3t"


@pytest.fixture
def client(tmp_path):
    """Return a function that starts the service with options of group [profiler]."""

    def started(**options):
        file = tmp_path / "placement.conf"
        lines = [f"{name} = {value}" for name, value in options.items()]
        file.write_text("\n".join(["[profiler]", *lines]))
        conf = config.load(
            files=[str(file)],
            environ=False,
            overrides={
                **UNTIMED,
                ("placement_database", "connection"): f"sqlite:///{tmp_path}/placement.db",
                ("placement_database", "sync_on_startup"): True,
                ("api", "auth_strategy"): "noauth2",
            },
        )
        return Client(app.start(conf).application)

    return started


@pytest.fixture
def points():
    """Return the trace points that osprofiler is told of."""
    from osprofiler import notifier, web

    told = []
    before = notifier.get()
    yield lambda: (notifier.set(told.append), told)[1]
    notifier.set(before)
    web.enable()


def signed(key):
    """Return the headers by which osprofiler's clients ask for a trace."""
    from osprofiler import profiler, web

    profiler.init(key)
    try:
        # osprofiler 4.2 has bytes here, which HTTP clients send as they are
        texts = {
            name: value.decode() if isinstance(value, bytes) else value
            for name, value in web.get_trace_id_headers().items()
        }
        return HEADERS | texts
    finally:
        profiler.clean()


@pytest.mark.parametrize("path", ["/resource_providers", "/traits/CUSTOM_NONE", "/nowhere"])
def test_a_signed_request_is_traced_and_its_answer_is_the_same(client, points, path):
    plain = client().get(path, headers=HEADERS)
    traced = client(enabled="true", hmac_keys=KEY)
    told = points()
    answer = traced.get(path, headers=signed(KEY))

    assert [point["name"] for point in told] == ["wsgi-start", "wsgi-stop"]
    assert told[0]["info"]["request"]["path"] == path
    assert answer.status == plain.status

    def kept(one):
        drop = ("x-openstack-request-id", "last-modified")
        return [pair for pair in one.headers if pair[0].lower() not in drop]

    assert kept(answer) == kept(plain)
    if plain.status_code == 200:
        assert answer.data == plain.data


@pytest.mark.parametrize("headers", [lambda: HEADERS, lambda: signed("another key")])
def test_a_request_without_a_valid_signature_is_not_traced(client, points, headers):
    traced = client(enabled="true", hmac_keys=KEY)
    told = points()
    assert traced.get("/resource_providers", headers=headers()).status_code == 200
    assert told == []


def test_a_rejected_request_is_traced_too(client, points):
    traced = client(enabled="true", hmac_keys=KEY)
    told = points()
    headers = {name: value for name, value in signed(KEY).items() if name != "x-auth-token"}
    assert traced.get("/resource_providers", headers=headers).status_code == 401
    assert len(told) == 2


def test_nothing_is_traced_unless_it_is_enabled(client, points):
    plain = client(hmac_keys=KEY)
    told = points()
    assert plain.get("/resource_providers", headers=signed(KEY)).status_code == 200
    assert told == []


@pytest.mark.parametrize(("enabled", "warned"), [("true", True), ("false", False)])
def test_without_osprofiler_a_warning_says_what_to_install(
    client, monkeypatch, caplog, enabled, warned
):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "osprofiler" else found(name)
    )
    with caplog.at_level(logging.WARNING):
        served = client(enabled=enabled, hmac_keys=KEY)
    said = [one.getMessage() for one in caplog.records if "profiler" in one.getMessage()]
    expected = (
        "[profiler]enabled has no effect: install openstack-berth[profiler], or the package "
        "osprofiler."
    )
    assert said == [expected] * warned
    assert served.get("/resource_providers", headers=HEADERS).status_code == 200
