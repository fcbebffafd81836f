"""Whether the client is still there, as the servers let us know."""

import contextlib
import socket

import pytest

from placement.http.client_disconnect import client_left


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with contextlib.closing(ours), contextlib.closing(theirs):
        yield ours, theirs


def test_a_server_that_tells_nothing_has_nobody_leave():
    assert not client_left({})


@pytest.mark.parametrize("left", [False, True])
def test_waitress_is_asked(left):
    assert client_left({"waitress.client_disconnected": lambda: left}) is left


def test_a_client_that_waits_is_there(pair):
    assert not client_left({"gunicorn.socket": pair[0]})


def test_a_client_that_closed_its_connection_left(pair):
    pair[1].close()

    assert client_left({"gunicorn.socket": pair[0]})


def test_a_client_that_has_sent_its_next_request_is_there_and_it_stays_to_be_read(pair):
    pair[1].sendall(b"GET")

    assert not client_left({"gunicorn.socket": pair[0]})
    assert pair[0].recv(3) == b"GET"


def test_a_client_that_left_behind_its_next_request_left(pair):
    pair[1].sendall(b"GET")
    pair[1].close()

    assert client_left({"gunicorn.socket": pair[0]})


def test_a_connection_that_the_server_closed_has_nobody_at_its_end(pair):
    pair[0].close()

    assert client_left({"gunicorn.socket": pair[0]})
