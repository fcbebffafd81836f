"""Verbs and decorators of the report client (compute.md §3.1, §3.3)."""

import logging

import pytest
from keystoneauth1 import exceptions as ksa_exc
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from compute import exceptions
from compute.report.wire import transport, unreachable
from compute.report.wire.transport import Retry, Transport, retries
from compute.report.wire.unreachable import reached, safe_connect
from tests.unit.compute.report.answers import FakeAdapter, answer


def over(adapter):
    """Make a transport that sends through the adapter."""
    return Transport(lambda: adapter)


def test_headers_a_given_adapter_has_are_kept():
    adapter = FakeAdapter(headers={"x-roles": "admin,service"})
    over(adapter)
    assert adapter.additional_headers == {"x-roles": "admin,service", "accept": "application/json"}


def test_an_accept_header_in_other_letters_is_kept():
    adapter = FakeAdapter(headers={"Accept": "text/plain"})
    over(adapter)
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
def test_each_verb_sends_its_body_as_json_and_names_the_version(verb, arguments, body):
    adapter = FakeAdapter(answer(200), answer(404))
    sender = getattr(over(adapter), verb)
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


class Asking:
    """Raises what it is given, answer by answer; `adapters` counts the adapters it made."""

    def __init__(self, *outcomes):
        self.naps = []
        self.outcomes = list(outcomes)
        self.adapters = 0
        self.transport = Transport(self._connect, sleep=self.naps.append)

    def _connect(self):
        self.adapters += 1
        return FakeAdapter()

    @safe_connect
    def ask(self):
        return self._next()

    @unreachable.rebuilds_adapter
    def ask_openly(self):
        return self._next()

    def ask_plainly(self):
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
def test_failing_to_reach_placement_is_none_and_a_warning(caplog, failure):
    asking = Asking(failure, "answer")
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
def test_other_exceptions_pass(failure):
    with pytest.raises(type(failure)):
        Asking(failure).ask()


def test_what_stays_wrong_is_warned_of_once_in_eleven_times(caplog):
    asking = Asking(*(ksa_exc.Unauthorized() for _ in range(23)))
    warned_at = []
    for number in range(23):
        caplog.clear()
        asking.ask()
        if caplog.records:
            warned_at.append(number)
    assert warned_at == [0, 11, 22]


def test_a_refused_connection_is_warned_of_each_time(caplog):
    asking = Asking(*(ksa_exc.ConnectFailure() for _ in range(3)))
    for _ in range(3):
        asking.ask()
    assert len(caplog.records) == 3


@pytest.mark.parametrize("method", ["ask", "ask_openly"])
def test_a_missing_endpoint_is_looked_for_with_a_new_adapter(method):
    asking = Asking(ksa_exc.EndpointNotFound())
    asking.adapters = 0
    if method == "ask":
        asking.ask()
    else:
        with pytest.raises(ksa_exc.EndpointNotFound):
            asking.ask_openly()
    assert asking.adapters == 1


@pytest.mark.parametrize("lost", [ksa_exc.ConnectFailure("gone"), ksa_exc.EndpointNotFound()])
def test_what_a_safe_method_warns_of_can_be_raised_instead(caplog, lost):
    asking = Asking(lost, "told")
    with pytest.raises(exceptions.PlacementAPIConnectFailure) as failure:
        reached(asking.transport, asking.ask_plainly)
    assert failure.value.__cause__ is lost
    assert reached(asking.transport, asking.ask_plainly) == "told"
    assert not caplog.records


def test_a_retry_waits_longer_each_time_and_ends_after_four(caplog):
    asking = Asking(*(Retry("write", "it moved") for _ in range(4)), "never asked for")
    with caplog.at_level(logging.ERROR):
        assert asking.persist() is False
    assert asking.outcomes == ["never asked for"]
    assert len(asking.naps) == 3
    assert all(0 <= nap <= 2 * attempt for attempt, nap in enumerate(asking.naps, start=1))
    assert "write" in caplog.text


def test_a_retry_that_succeeds_answers():
    asking = Asking(Retry("write", "it moved"), "written")
    assert asking.persist() == "written"
    assert len(asking.naps) == 1


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
    unreachable.report_construction_failure(failure)
    assert words in caplog.text
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_each_request_is_counted_with_its_status_or_none_without_an_answer():
    class Broken(FakeAdapter):
        def delete(self, url, **options):
            raise ksa_exc.ConnectFailure("gone")

    counted = []
    adapter = Broken(answer(200), answer(409))
    sender = Transport(lambda: adapter, on_request=lambda *request: counted.append(request))
    sender.get("/x")
    sender.put("/x", {})
    with pytest.raises(ksa_exc.ConnectFailure):
        sender.delete("/x")
    assert counted == [("GET", 200), ("PUT", 409), ("DELETE", None)]


def caused_by(failure, cause):
    failure.__cause__ = cause
    return failure


@pytest.mark.parametrize(
    "failure",
    [
        ksa_exc.EndpointNotFound(),
        ksa_exc.DiscoveryFailure(),
        ksa_exc.AuthorizationFailure(),
        ksa_exc.MissingAuthPlugin(),
        caused_by(ksa_exc.ConnectFailure(), NewConnectionError(None, "refused")),
        caused_by(ksa_exc.ConnectTimeout(), ConnectTimeoutError()),
        ksa_exc.ConnectFailure(OSError(NewConnectionError(None, "refused"))),
        RuntimeError("of the caller"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_without_endpoint_token_or_connection_a_request_never_got_to_placement(failure):
    assert unreachable.never_sent(failure)


@pytest.mark.parametrize(
    "failure",
    [
        ksa_exc.ConnectFailure(),
        ksa_exc.ConnectFailure(ConnectionResetError()),
        caused_by(ksa_exc.ConnectTimeout(), TimeoutError()),
        ksa_exc.Unauthorized(),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_connection_that_broke_may_have_carried_the_request(failure):
    assert not unreachable.never_sent(failure)


def test_causes_that_go_in_circles_are_looked_at_once():
    first, second = ksa_exc.ConnectFailure(), OSError()
    first.__cause__, second.__cause__ = second, first

    assert not unreachable.never_sent(first)
