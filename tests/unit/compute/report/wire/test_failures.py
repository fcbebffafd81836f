"""What a failure is told as, in one line."""

import json

import pytest
from keystoneauth1.exceptions import ConnectFailure, DiscoveryFailure
from requests.exceptions import ConnectionError as RequestsConnectionError
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError

from compute.exceptions import (
    AllocationUpdateFailed,
    ReshapeNeeded,
    ResourceProviderInUse,
    ResourceProviderSyncFailed,
)
from compute.report.wire.failures import Refusal, why
from tests.unit.compute.report.answers import answer

URL = "http://placement.example"
WHERE = f"Unable to establish connection to {URL}"


def lost(*causes):
    """Return what keystoneauth1 raises for a lost request, with its chain of causes."""
    try:
        _raise([ConnectFailure(f"{WHERE}: {causes[-1]!r}"), *reversed(causes)])
    except ConnectFailure as error:
        return error


def _raise(errors):
    """Each in the handling of the next."""
    error, *under = errors
    if not under:
        raise error
    try:
        _raise(under)
    except Exception:
        raise error  # noqa: B904 as the libraries do it


def refused():
    pool = None
    return (
        ConnectionRefusedError(111, "Connection refused"),
        NewConnectionError(pool, "Failed to establish a new connection: [Errno 111] refused"),
        MaxRetryError(pool, "/"),
        RequestsConnectionError("HTTPConnectionPool: Max retries exceeded"),
    )


def test_of_a_refused_connection_only_where_to_and_the_reason():
    assert why(lost(*refused())) == f"{WHERE}: Connection refused"


def test_a_reason_without_a_number_is_told_as_it_is():
    closed = ProtocolError("Connection aborted.")
    assert why(lost(closed, RequestsConnectionError(closed))) == f"{WHERE}: Connection aborted."


@pytest.mark.parametrize("attribute", ["__cause__", "__context__"])
def test_a_connection_lost_while_keystones_versions_were_asked_for_is_the_reason(attribute):
    error = DiscoveryFailure()
    setattr(error, attribute, lost(*refused()))
    assert why(error) == f"{WHERE}: Connection refused"


@pytest.mark.parametrize("meanwhile", [ReshapeNeeded(), KeyError("what")])
def test_what_was_being_handled_when_the_connection_was_lost_is_no_reason(meanwhile):
    assert why(lost(meanwhile, *refused())) == f"{WHERE}: Connection refused"


def test_any_other_failure_is_its_message():
    assert why(ReshapeNeeded()) == str(ReshapeNeeded())


def test_of_a_failed_synchronization_what_it_failed_with_is_told():
    error = ResourceProviderSyncFailed()
    error.__cause__ = ResourceProviderInUse()
    expected = f"{str(error).rstrip('.')}: {ResourceProviderInUse()}"
    assert (why(error), why(ResourceProviderSyncFailed())) == (expected, str(error))


def answered(*errors):
    """Return the text of an answer of placement."""
    return json.dumps({"errors": list(errors)}, indent=1)


def test_of_placement_s_answer_the_status_and_the_detail_are_told():
    text = answered(
        {"status": 409, "title": "Conflict", "detail": "There was a conflict.\n\n No room.  "}
    )
    error = AllocationUpdateFailed(consumer_uuid="c", error=text)
    told = "409 Conflict: There was a conflict. No room."
    assert why(error) == str(error).replace(text, told)
    assert str(Refusal(answer(409, text=text))) == told
    assert str(Refusal(answer(502, text="Bad gateway"))) == "502 Bad gateway"


@pytest.mark.parametrize(
    "text",
    [
        '{"errors": "many"}',
        '{"errors": [1]}',
        '{"errors": []}',
        '{"errors": [{"status": 400}]}',
        '{"errors": [',
    ],
)
def test_an_answer_of_another_form_is_told_as_it_is(text):
    error = AllocationUpdateFailed(consumer_uuid="c", error=text)
    assert why(error) == str(error)
