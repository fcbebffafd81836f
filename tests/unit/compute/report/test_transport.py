"""Options, adapters, verbs and decorators of the report client (compute.md §3.1, §3.3)."""

import http.server
import logging
import socket
import threading
from types import SimpleNamespace

import pytest
from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1.session import Session
from oslo_config import cfg

from compute import config, exceptions
from compute.report import SchedulerReportClient, report_client_singleton, transport
from compute.report import client as client_module
from compute.report.transport import Retry, Transport, reached, retries, safe_connect
from tests.unit.compute.report.answers import FakeAdapter, answer


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    transport.register_options(conf)
    conf([])
    return conf


def placement(**options):
    """The compute configuration with these options in group [placement], as a file has them."""
    environ = {f"OS_PLACEMENT__{name.upper()}": value for name, value in options.items()}
    return config.load(files=[], environ=environ)


# Options


def test_the_group_has_our_defaults_and_registers_twice(conf):
    transport.register_options(conf)
    assert conf.placement.service_type == "placement"
    assert conf.placement.valid_interfaces == ["internal", "public"]


def test_every_listed_option_is_registered(conf):
    names = {option.dest for option in transport.list_options()}
    assert names <= set(conf.placement)
    assert {"auth_type", "endpoint_override", "connect_retries", "cafile", "timeout"} <= names


# The adapter


@pytest.fixture
def listener():
    """A loopback HTTP server that says 200 {} to all; `listener.seen` holds request headers."""
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
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", seen=seen)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def nobody():
    """The URL of a port where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


def test_a_token_and_an_endpoint_are_enough_for_a_service_without_keystone(listener):
    conf = placement(auth_type="admin_token", endpoint=listener.url, token="admin")
    reached = Transport(None, conf).get("/x", version="1.14", global_request_id="req-1")
    ((path, headers),) = listener.seen
    assert reached.status_code == 200
    assert path == "/x"
    assert headers["X-Auth-Token"] == "admin"
    assert headers["accept"] == "application/json"
    assert headers["OpenStack-API-Version"] == "placement 1.14"
    assert headers["X-Openstack-Request-Id"] == "req-1"


@pytest.mark.parametrize(
    "options", [{"auth_type": "none"}, {}], ids=["auth_type none", "no auth_type"]
)
def test_an_endpoint_override_needs_no_authentication(listener, options):
    conf = placement(endpoint_override=listener.url, **options)
    assert Transport(None, conf).get("/x").status_code == 200
    assert "OpenStack-API-Version" not in listener.seen[0][1]


def test_a_plugin_that_doesnt_exist_is_an_error_at_once():
    with pytest.raises(ksa_exc.NoMatchingPlugin):
        Transport(None, placement(auth_type="clairvoyance"))


def test_a_password_without_a_url_is_an_error_at_once():
    with pytest.raises(ksa_exc.MissingRequiredOptions):
        Transport(None, placement(auth_type="password", username="nova"))


def test_nobody_listening_is_a_connect_failure(nobody):
    conf = placement(auth_type="admin_token", endpoint=nobody, token="admin")
    with pytest.raises(ksa_exc.ConnectFailure):
        Transport(None, conf).get("/x")


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
        Transport(None, conf).get("/x")


def test_headers_a_given_adapter_has_are_kept(conf):
    adapter = FakeAdapter(headers={"x-roles": "admin,service"})
    Transport(adapter, conf)
    assert adapter.additional_headers == {"x-roles": "admin,service", "accept": "application/json"}


def test_an_accept_header_in_other_letters_is_kept(conf):
    adapter = FakeAdapter(headers={"Accept": "text/plain"})
    Transport(adapter, conf)
    assert adapter.additional_headers == {"Accept": "text/plain"}


@pytest.mark.parametrize(
    ("verb", "arguments", "body"),
    [
        ("get", (), {}),
        ("post", ({"a": 1},), {"json": {"a": 1}}),
        ("put", ({"a": 1},), {"json": {"a": 1}}),
        ("put", ({},), {"json": {}}),
        ("put", (None,), {}),
        ("delete", (), {}),
    ],
)
def test_each_verb_sends_its_body_as_json_and_names_the_version(conf, verb, arguments, body):
    adapter = FakeAdapter(answer(200), answer(404))
    sender = getattr(Transport(adapter, conf), verb)
    sender("/x", *arguments, version="1.30", global_request_id="req-1")
    assert not sender("/x", *arguments)
    headers = {
        "OpenStack-API-Version": "placement 1.30",
        "X-Openstack-Request-Id": "req-1",
    }
    assert adapter.sent == [
        (verb.upper(), "/x", {"headers": headers, "raise_exc": False, **body}),
        (verb.upper(), "/x", {"headers": {}, "raise_exc": False, **body}),
    ]


# Answers


@pytest.mark.parametrize(
    ("response", "code", "detail"),
    [
        (answer(409, {"errors": [{"code": "placement.x", "detail": "why"}]}), "placement.x", "why"),
        (answer(409, {"errors": [{"detail": "why"}]}), None, "why"),
        (answer(500, text="<html>"), None, "<html>"),
        (answer(409, {"errors": []}), None, '{"errors": []}'),
        (answer(409, {"errors": ["?"]}), None, '{"errors": ["?"]}'),
        (answer(409, []), None, "[]"),
    ],
)
def test_code_and_detail_come_from_the_first_error_if_there_is_one(response, code, detail):
    assert transport.error_code(response) == code
    assert transport.error_detail(response) == detail


# Decorators


class Asking(Transport):
    """Raises what it is given, answer by answer."""

    def __init__(self, conf, *outcomes):
        self.naps = []
        super().__init__(FakeAdapter(), conf, sleep=self.naps.append)
        self.outcomes = list(outcomes)
        self.adapters = 0

    def _create_client(self):
        self.adapters = getattr(self, "adapters", 0) + 1
        return super()._create_client()

    @safe_connect
    def ask(self):
        return self._next()

    @transport.rebuilds_adapter
    def ask_openly(self):
        return self._next()

    @retries
    def persist(self):
        return self._next()

    def _next(self):
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@pytest.mark.parametrize(
    "failure",
    [
        ksa_exc.EndpointNotFound(),
        ksa_exc.MissingAuthPlugin(),
        ksa_exc.Unauthorized(),
        ksa_exc.DiscoveryFailure(),
        ksa_exc.ConnectFailure(),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_failing_to_reach_placement_is_none_and_a_warning(conf, caplog, failure):
    asking = Asking(conf, failure, "answer")
    assert asking.ask() is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert asking.ask() == "answer"


@pytest.mark.parametrize(
    "failure",
    [
        ValueError("mine"),
        exceptions.ResourceProviderInUse(),
        ksa_exc.ConnectTimeout(),
        ksa_exc.ClientException("?"),
    ],
)
def test_other_exceptions_pass(conf, failure):
    with pytest.raises(type(failure)):
        Asking(conf, failure).ask()


def test_what_stays_wrong_is_warned_of_once_in_eleven_times(conf, caplog):
    asking = Asking(conf, *(ksa_exc.Unauthorized() for _ in range(23)))
    warned_at = []
    for number in range(23):
        caplog.clear()
        asking.ask()
        if caplog.records:
            warned_at.append(number)
    assert warned_at == [0, 11, 22]


def test_a_refused_connection_is_warned_of_each_time(conf, caplog):
    asking = Asking(conf, *(ksa_exc.ConnectFailure() for _ in range(3)))
    for _ in range(3):
        asking.ask()
    assert len(caplog.records) == 3


@pytest.mark.parametrize("method", ["ask", "ask_openly"])
def test_a_missing_endpoint_is_looked_for_with_a_new_adapter(conf, method):
    asking = Asking(conf, ksa_exc.EndpointNotFound())
    asking.adapters = 0
    if method == "ask":
        asking.ask()
    else:
        with pytest.raises(ksa_exc.EndpointNotFound):
            asking.ask_openly()
    assert asking.adapters == 1


def test_none_from_a_safe_method_is_a_failure_and_nothing_else_is():
    assert reached(False) is False
    with pytest.raises(exceptions.PlacementAPIConnectFailure):
        reached(None)


def test_a_retry_waits_longer_each_time_and_ends_after_four(conf, caplog):
    asking = Asking(conf, *(Retry("write", "it moved") for _ in range(4)), "never asked for")
    with caplog.at_level(logging.ERROR):
        assert asking.persist() is False
    assert asking.outcomes == ["never asked for"]
    assert len(asking.naps) == 3
    assert all(0 <= nap <= 2 * attempt for attempt, nap in enumerate(asking.naps, start=1))
    assert "write" in caplog.text


def test_a_retry_that_succeeds_answers(conf):
    asking = Asking(conf, Retry("write", "it moved"), "written")
    assert asking.persist() == "written"
    assert len(asking.naps) == 1


# The singleton


@pytest.fixture
def no_singleton(monkeypatch):
    monkeypatch.setattr(client_module, "_singleton", None)


@pytest.mark.usefixtures("no_singleton")
def test_there_is_one_client_per_process():
    first = report_client_singleton(placement(endpoint_override="http://127.0.0.1:1"))
    assert report_client_singleton() is first


@pytest.mark.usefixtures("no_singleton")
def test_a_client_that_cant_be_made_is_explained_and_not_remembered(caplog):
    with pytest.raises(ksa_exc.NoMatchingPlugin):
        report_client_singleton(placement(auth_type="clairvoyance"))
    assert "check [placement]" in caplog.text
    assert report_client_singleton(placement(auth_type="none")) is not None


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (ksa_exc.EndpointNotFound(), "endpoint was not found"),
        (ksa_exc.MissingAuthPlugin(), "No usable authentication"),
        (ksa_exc.Unauthorized(), "credentials do not work"),
        (ksa_exc.DiscoveryFailure(), "Discovering"),
        (ksa_exc.ConnectTimeout(), "not responding"),
        (RuntimeError("?"), "Failed to initialize"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_failure_has_its_words(caplog, failure, words):
    transport.report_construction_failure(failure)
    assert words in caplog.text
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_no_session_is_needed_to_make_a_client(conf):
    assert isinstance(transport.build_adapter(conf).session, Session)


def test_a_placement_that_never_answers_is_given_up_after_a_while(conf):
    assert conf.placement.timeout == transport.TIMEOUT


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
