"""Limits on connections and waiting requests of a worker; threads never wait for clients."""

import contextlib
import errno
import http.client
import itertools
import os
import select
import socket
import threading

import pytest
from waitress import wasyncore

from placement.http.environ import STAND_IN
from placement.serving import front
from placement.serving.connection import ClientConnection
from placement.serving.front import Front
from tests.faults.running import eventually
from tests.patience import PATIENCE

LARGE = 30_000_000


class Application:
    """Responds at once; `/large` with a long body, `held` once the test releases it."""

    def __init__(self):
        self.held = "/held"
        #: waits as a request does that has a stand-in, and that of its write
        self.waits = "/waits"
        self.ended = False
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        if path == self.waits:
            with environ[STAND_IN](), environ[STAND_IN]():
                self.begun.release()
                self.go_on.wait(PATIENCE)
        if path == self.held:
            self.begun.release()
            self.go_on.wait(PATIENCE)
            self.ended = True
        body = b"x" * (LARGE if path == "/large" else 2)
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]


@pytest.fixture
def application():
    return Application()


@pytest.fixture
def serve(application):
    """Start a front with one thread; return a function that connects to it."""
    with contextlib.ExitStack() as stack:

        def serve(connections=1_000):
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            address = listener.getsockname()
            listener.setblocking(False)
            wake_up, wake = os.pipe()
            served = Front(
                application,
                [listener],
                wake_up,
                threads=1,
                connections=connections,
                client_timeout=PATIENCE,
                longest_body=1_000,
                most_held=1 << 30,
            )
            stopped = threading.Event()

            def run():
                while not stopped.is_set():
                    served.turn(0.05)
                served.stop_accepting()
                served.close()

            loop = threading.Thread(target=run)
            loop.start()

            def stop():
                stopped.set()
                loop.join()

            stack.callback(os.close, wake_up)
            stack.callback(os.close, wake)
            stack.callback(stop)
            stack.callback(application.go_on.set)

            def connect():
                client = http.client.HTTPConnection(*address, timeout=PATIENCE)
                stack.callback(client.close)
                client.connect()
                return client

            connect.stop = stop
            return connect

        yield serve


def status(client, path="/x"):
    client.request("GET", path)
    answer = client.getresponse()
    answer.read()
    return answer.status


def test_a_connection_beyond_the_limit_closes_the_longest_waiting_one(serve):
    # the listener and its own pipe are counted, too
    connect = serve(connections=5)
    first, second, third = connect(), connect(), connect()
    assert [status(one) for one in (third, second, first)] == [200] * 3
    assert status(connect()) == 200
    with pytest.raises((http.client.HTTPException, OSError)):
        status(third)
    assert (status(first), status(second)) == (200, 200)


def test_without_files_and_idle_clients_a_listener_rests_until_the_next_look(serve, monkeypatch):
    events = []
    look = Front._look

    def accept(listener):
        events.append("accept")
        if events.count("accept") < 4:
            raise OSError(errno.ENFILE, os.strerror(errno.ENFILE))
        return wasyncore.dispatcher.accept(listener)

    def noted(served, now):
        events.append("look")
        look(served, now)

    monkeypatch.setattr(front, "INTERVAL", 0.01)
    monkeypatch.setattr(front.Listening, "accept", accept, raising=False)
    monkeypatch.setattr(Front, "_look", noted)
    assert status(serve()()) == 200
    assert ("accept", "accept") not in itertools.pairwise(events)


def test_a_response_that_the_client_does_not_read_blocks_no_thread(serve):
    connect = serve()
    slow = connect()
    slow.request("GET", "/large")
    assert status(connect()) == 200
    answer = slow.getresponse()
    assert len(answer.read()) == LARGE


def test_a_short_answer_is_sent_in_one_piece(serve, monkeypatch):
    sent = []
    send = ClientConnection._send_now

    def noted(connection, data):
        sent.append(bytes(data))
        return send(connection, data)

    monkeypatch.setattr(ClientConnection, "_send_now", noted)
    client = serve()()
    assert (status(client), status(client)) == (200, 200)
    assert [(piece[:15], piece[-2:]) for piece in sent] == [(b"HTTP/1.1 200 OK", b"xx")] * 2


def test_a_request_that_came_with_its_connection_is_read_before_the_loop_turns(serve, monkeypatch):
    seen = []
    received = ClientConnection.received

    def accept(listener):
        accepted = wasyncore.dispatcher.accept(listener)
        if accepted is not None:
            select.select(accepted[:1], [], [], PATIENCE)
        return accepted

    def note(connection, data):
        is_waited_for = connection._fileno in connection._map._waited_for
        nodelay = connection.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        seen.append((is_waited_for, bool(nodelay)))
        return received(connection, data)

    monkeypatch.setattr(front.Listening, "accept", accept, raising=False)
    monkeypatch.setattr(ClientConnection, "received", note)
    client = serve()()
    assert [status(client), status(client)] == [200, 200]
    assert seen == [(False, True), (True, True)]


def test_requests_without_authentication_do_not_wait_for_others(serve, application):
    connect = serve()
    held = connect()
    held.request("GET", "/held")
    assert application.begun.acquire(timeout=PATIENCE)
    assert status(connect(), "/") == 200
    application.go_on.set()
    assert held.getresponse().status == 200


def test_a_probe_with_a_token_does_not_hold_the_thread_of_probes(serve, application):
    # it may have to wait for keystone: not everybody may be answered without a token
    application.held = "/healthcheck"
    connect = serve()
    stranger = connect()
    stranger.request("GET", "/healthcheck", headers={"X-Auth-Token": "anything"})
    assert application.begun.acquire(timeout=PATIENCE)
    application.held = "/held"
    assert status(connect(), "/healthcheck") == 200
    assert not application.ended
    application.go_on.set()
    assert stranger.getresponse().status == 200


def test_a_request_beyond_the_limit_of_waiting_ones_gets_503(serve, application, monkeypatch):
    monkeypatch.setattr(front, "MOST_WAITING", 0)
    connect = serve()
    assert status(connect()) == 503
    assert status(connect(), "/") == 200


def test_a_request_that_outlasts_the_front_writes_into_no_other_file(serve, application):
    others = set(threading.enumerate())
    connect = serve()
    held = connect()
    held.request("GET", "/held")
    assert application.begun.acquire(timeout=PATIENCE)
    connect.stop()
    with contextlib.ExitStack() as stack:
        # they get the numbers of the files that were closed
        pairs = [socket.socketpair() for _ in range(5)]
        ends = [stack.enter_context(end) for pair in pairs for end in pair]
        application.go_on.set()
        # also the idle one, which may need longer than the front waits for it
        for thread in set(threading.enumerate()) - others:
            thread.join(PATIENCE)
        assert application.ended
        for end in ends:
            end.setblocking(False)
            with pytest.raises(BlockingIOError):
                end.recv(1)


def test_a_thread_that_waits_has_another_one_stand_in(serve, application):
    """When the wait is over, there are as many threads as before."""
    connect = serve()
    before = threading.active_count()
    waiting = connect()
    waiting.request("GET", "/waits")
    assert application.begun.acquire(timeout=PATIENCE)
    assert threading.active_count() == before + 1
    assert status(connect()) == 200
    application.go_on.set()
    assert waiting.getresponse().status == 200
    eventually(lambda: threading.active_count() == before)
    assert status(connect()) == 200


def test_a_request_waits_without_a_stand_in_if_the_system_has_no_thread_left(
    serve, application, monkeypatch
):
    connect = serve()
    waiting = connect()

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patches:
        patches.setattr(threading.Thread, "start", refuse)
        waiting.request("GET", "/waits")
        assert application.begun.acquire(timeout=PATIENCE)
    application.go_on.set()
    assert waiting.getresponse().status == 200
    assert status(connect()) == 200
