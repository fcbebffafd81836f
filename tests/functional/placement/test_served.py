"""Servers of tests end the connections that clients keep, when they are told to."""

import queue
import socket
import socketserver

from tests.functional.placement.served import HangingUp, hang_up, running
from tests.patience import PATIENCE


class Server(HangingUp, socketserver.TCPServer):
    pass


class Listening(socketserver.BaseRequestHandler):
    """Answers when the client has said all."""

    connections = queue.Queue()

    def handle(self):
        self.connections.put(self.request)
        while self.request.recv(1):
            pass
        self.request.sendall(b"answer")


def test_a_client_that_keeps_a_connection_is_answered_and_the_server_goes_on():
    server = Server(("127.0.0.1", 0), Listening)
    with running(server):
        for _ in range(2):
            with socket.create_connection(server.server_address) as client:
                Listening.connections.get(timeout=PATIENCE)
                hang_up()
                assert client.makefile("rb").read() == b"answer"


def test_a_server_that_ends_hangs_up():
    server = Server(("127.0.0.1", 0), Listening)
    with running(server):
        client = socket.create_connection(server.server_address)
        Listening.connections.get(timeout=PATIENCE)
    with client:
        assert client.makefile("rb").read() == b"answer"
