"""What a failure is told as, in one line."""

import pytest
from keystoneauth1.exceptions import ConnectFailure
from requests.exceptions import ConnectionError as RequestsConnectionError
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError

from compute.cli.console import why
from compute.exceptions import ReshapeNeeded

URL = "http://placement.example"
WHERE = f"Unable to establish connection to {URL}"


def lost(*causes):
    """What keystoneauth1 raises when a request is lost, over what it was raised over."""
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


@pytest.mark.parametrize("meanwhile", [ReshapeNeeded(), KeyError("what")])
def test_what_was_being_handled_when_the_connection_was_lost_is_no_reason(meanwhile):
    assert why(lost(meanwhile, *refused())) == f"{WHERE}: Connection refused"


def test_any_other_failure_is_its_message():
    assert why(ReshapeNeeded()) == str(ReshapeNeeded())
