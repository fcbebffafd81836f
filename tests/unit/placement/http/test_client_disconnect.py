"""Find out whether the client is connected, as far as each server tells."""

import contextlib
import socket

import pytest

from placement.http.client_disconnect import client_left


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with contextlib.closing(ours), contextlib.closing(theirs):
        yield ours, theirs


def test_without_information_the_client_counts_as_connected():
    assert not client_left({})


@pytest.mark.parametrize("left", [False, True])
def test_waitress_tells_it(left):
    assert client_left({"waitress.client_disconnected": lambda: left}) is left


def test_a_client_that_waits_is_connected(pair):
    assert not client_left({"gunicorn.socket": pair[0]})


def test_a_client_that_closed_its_connection_is_gone(pair):
    pair[1].close()

    assert client_left({"gunicorn.socket": pair[0]})


def test_a_client_that_sent_its_next_request_is_connected_and_no_data_is_read(pair):
    pair[1].sendall(b"GET")

    assert not client_left({"gunicorn.socket": pair[0]})
    assert pair[0].recv(3) == b"GET"


def test_a_client_that_closed_after_its_next_request_is_gone(pair):
    pair[1].sendall(b"GET")
    pair[1].close()

    assert client_left({"gunicorn.socket": pair[0]})


def test_a_connection_that_the_server_closed_has_no_client(pair):
    pair[0].close()

    assert client_left({"gunicorn.socket": pair[0]})
