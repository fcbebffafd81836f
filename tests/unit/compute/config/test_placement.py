"""Group [placement]: its options, and the adapter that it describes (compute.md §3.1)."""

import http.server
import socket
import threading
from types import SimpleNamespace

import pytest
from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1.session import Session
from oslo_config import cfg

from compute import config
from compute.config import placement as group
from compute.config.credentials import is_described
from compute.report.wire.failures import described_user
from compute.report.wire.transport import Transport


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    group.register_options(conf)
    conf([])
    return conf


def placement(**options):
    """Load the compute configuration with these options in group [placement] of a file."""
    environ = {f"OS_PLACEMENT__{name.upper()}": value for name, value in options.items()}
    return config.load(files=[], environ=environ)


# Options


def test_the_group_has_our_defaults_and_registers_twice(conf):
    group.register_options(conf)
    assert conf.placement.service_type == "placement"
    assert conf.placement.valid_interfaces == ["internal", "public"]


def test_every_listed_option_is_registered(conf):
    names = {option.dest for option in group.OPTIONS}
    assert names <= set(conf.placement)
    assert {"auth_type", "endpoint_override", "connect_retries", "cafile", "timeout"} <= names


# The adapter


@pytest.fixture
def listener():
    """Start an HTTP server that answers 200 {}; `listener.seen` holds request headers."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, dict(self.headers)))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args):
            """Keep the test's output clean."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", seen=seen)
    server.shutdown()
    thread.join()
    server.server_close()


def test_no_request_waits_after_the_clock_was_set_back(listener, monkeypatch):
    conf = placement(auth_type="admin_token", endpoint=listener.url, token="t")
    adapter = group.build_adapter(conf)
    clock = SimpleNamespace(time=lambda: 0.0, sleep=lambda seconds: pytest.fail(f"{seconds} s"))
    monkeypatch.setattr("keystoneauth1._fair_semaphore.time", clock)
    assert adapter.get("/").status_code == 200


@pytest.fixture
def nobody():
    """Return the URL of a port on which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


def test_a_token_and_an_endpoint_are_enough_for_a_service_without_keystone(listener):
    conf = placement(auth_type="admin_token", endpoint=listener.url, token="admin")
    reached = Transport(lambda: group.build_adapter(conf)).get(
        "/x", version="1.14", global_request_id="req-1"
    )
    ((path, headers),) = listener.seen
    assert reached.status_code == 200
    assert path == "/x"
    assert headers["X-Auth-Token"] == "admin"
    assert headers["accept"] == "application/json"
    assert headers["OpenStack-API-Version"] == "placement 1.14"
    assert headers["X-Openstack-Request-Id"] == "req-1"


def test_another_group_may_have_the_account_and_its_url_shows_no_user(listener, tmp_path):
    url = listener.url.replace("//", "//nova:word@")
    file = tmp_path / "berth-compute.conf"
    account = f"auth_type = admin_token\nendpoint = {url}\ntoken = admin\n"
    file.write_text(f"[placement]\nauth_section = account\n[account]\n{account}")
    conf = config.load(files=[str(file)], environ={})
    assert is_described(conf, group.GROUP)
    assert described_user(conf) == "the token of group [account]"
    adapter = group.build_adapter(conf)
    assert "word" not in adapter.get_endpoint()
    assert Transport(lambda: adapter).get("/x").status_code == 200
    ((_, headers),) = listener.seen
    assert headers["X-Auth-Token"] == "admin"
    assert headers["Authorization"] == "Basic bm92YTp3b3Jk"
    assert conf.account.endpoint == url


@pytest.mark.parametrize(
    "options", [{"auth_type": "none"}, {}], ids=["auth_type none", "no auth_type"]
)
def test_an_endpoint_override_needs_no_authentication(listener, options):
    conf = placement(endpoint_override=listener.url, **options)
    assert Transport(lambda: group.build_adapter(conf)).get("/x").status_code == 200
    assert "OpenStack-API-Version" not in listener.seen[0][1]


def test_a_plugin_that_doesnt_exist_is_an_error_at_once():
    with pytest.raises(ksa_exc.NoMatchingPlugin):
        group.build_adapter(placement(auth_type="clairvoyance"))


def test_a_password_without_a_url_is_an_error_at_once():
    with pytest.raises(ksa_exc.MissingRequiredOptions):
        group.build_adapter(placement(auth_type="password", username="nova"))


def test_nobody_listening_is_a_connect_failure(nobody):
    conf = placement(auth_type="admin_token", endpoint=nobody, token="admin")
    with pytest.raises(ksa_exc.ConnectFailure):
        Transport(lambda: group.build_adapter(conf)).get("/x")


def test_keystone_that_isnt_there_is_a_client_exception(nobody):
    conf = placement(
        auth_type="password",
        auth_url=nobody,
        username="nova",
        password="secret",
        project_name="service",
        user_domain_id="default",
        project_domain_id="default",
    )
    with pytest.raises(ksa_exc.ClientException):
        Transport(lambda: group.build_adapter(conf)).get("/x")


def test_no_session_is_needed_to_make_a_client(conf):
    assert isinstance(group.build_adapter(conf).session, Session)


def test_a_placement_that_never_answers_is_given_up_after_a_while(conf):
    assert conf.placement.timeout == group.TIMEOUT
