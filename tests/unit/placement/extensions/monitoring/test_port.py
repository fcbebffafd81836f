"""The port for metrics alone: what a successor gets, and clients that fail."""

import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from placement.extensions.monitoring import port
from tests.patience import PATIENCE


def answer(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["PATH_INFO"].encode()]


def asked(number, path):
    """Return the answer of the port."""
    return urllib.request.urlopen(f"http://127.0.0.1:{number}{path}", timeout=PATIENCE)


@pytest.fixture
def listener():
    environ = {}
    opened = port.listen(0, environ)
    yield opened, environ
    opened.close()


def test_the_program_that_replaces_this_one_gets_the_open_port(listener):
    opened, environ = listener
    number = opened.getsockname()[1]
    # the successor has a copy of the descriptor
    inherited = {port.VARIABLE: str(opened.dup().detach()), "GUNICORN_FD": "3"}
    successor = port.listen(number, inherited)
    assert successor.getsockname() == opened.getsockname()
    successor.close()
    assert environ[port.VARIABLE] == str(opened.fileno())


def test_a_descriptor_of_another_program_is_not_taken(listener):
    opened, _ = listener
    number = opened.getsockname()[1]
    with pytest.raises(OSError, match="in use"):
        port.listen(number, {port.VARIABLE: str(opened.fileno())})


def test_a_client_that_leaves_takes_nobody_s_answer(listener):
    opened, _ = listener
    number = opened.getsockname()[1]
    port.serve(opened, {"/metrics": answer})
    with socket.create_connection(("127.0.0.1", number)) as client:
        client.sendall(b"GET /metr")
    with socket.create_connection(("127.0.0.1", number)) as client:
        client.sendall(b"\0\0\r\n\r\n")
    with asked(number, "/metrics") as response:
        assert response.read() == b"/metrics"


def test_its_thread_ends_when_the_port_is_closed(listener):
    opened, _ = listener
    thread = port.serve(opened, {"/metrics": answer})
    opened.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()


KILLED = """
import os, signal
from placement.extensions.monitoring import port

def page(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    yield environ["QUERY_STRING"].encode()
    os.kill(os.getpid(), signal.SIGKILL)

listener = port.listen(0, {})
port.serve(listener, {"/metrics": page})
print(listener.getsockname()[1], flush=True)
signal.pause()
"""


@pytest.mark.parametrize("begun", ["", "half"])
def test_a_page_of_a_process_that_is_killed_does_not_look_complete(begun):
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        address = ("127.0.0.1", int(process.stdout.readline()))
        with socket.create_connection(address) as client:
            client.sendall(f"GET /metrics?{begun} HTTP/1.0\r\n\r\n".encode())
            with pytest.raises(ConnectionResetError):
                list(iter(lambda: client.recv(100), b""))


def test_a_client_that_is_too_slow_is_no_error_and_a_page_that_fails_is(
    listener, monkeypatch, caplog, capfd
):
    def endless(environ, start_response):
        start_response("200 OK", [])
        while True:
            yield b"x" * 100_000

    def failing(environ, start_response):
        raise RuntimeError("a defect")

    opened, _ = listener
    number = opened.getsockname()[1]
    with socket.socket() as client:
        client.bind(("127.0.0.1", 0))
        slow = client.getsockname()
        # the others of this test have time
        limit = property(lambda handler: 0.1 if handler.client_address == slow else PATIENCE)
        monkeypatch.setattr(port._Handler, "timeout", limit)
        client.connect(opened.getsockname())
        client.sendall(b"GET /endless HTTP/1.0\r\n\r\n")
        port.serve(opened, {"/endless": endless, "/failing": failing, "/metrics": answer})
        # it is read no further, and the next one is answered
        with asked(number, "/metrics") as response:
            assert response.read() == b"/metrics"
    assert (capfd.readouterr().err, caplog.text) == ("", "")
    with pytest.raises(urllib.error.HTTPError, match="500"):
        asked(number, "/failing")
    assert "/failing failed" in caplog.text
    assert "a defect" in caplog.text


def test_a_page_that_fails_in_the_middle_does_not_look_complete(listener):
    def failing(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        yield b"half"
        raise RuntimeError("a defect")

    opened, _ = listener
    port.serve(opened, {"/failing": failing})
    with socket.create_connection(opened.getsockname()) as client:
        client.sendall(b"GET /failing HTTP/1.0\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            list(iter(lambda: client.recv(100), b""))


def test_it_is_open_on_this_machine_only(listener):
    opened, _ = listener
    assert opened.getsockname()[0] == "127.0.0.1"
