"""The front of a worker: accepts connections and hands whole requests to threads."""

import errno
import logging
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer, UnixWSGIServer
from waitress.task import ThreadedTaskDispatcher

from placement.http.context import OPEN_PATHS
from placement.http.environ import WSGIApplication
from placement.serving.connection import Connection
from placement.serving.loop import Sockets
from placement.serving.request_parser import LONGEST_HEAD, Parser
from placement.serving.request_tasks import Busy, Refusing

LOG = logging.getLogger(__name__)

#: requests that wait for a thread at most
MOST_WAITING = 1_000
#: connections accepted in a row before others have their turn
MOST_ACCEPTED = 100
#: bytes that are kept in memory, of a body and of an answer; what is longer is in a file
BODY_IN_MEMORY = 64 * 1024
ANSWER_IN_MEMORY = 256 * 1024
#: seconds for which a new connection is taken for one that is about to send its request
FRESH = 2.0
#: seconds between looks for clients that have taken too long or hold too much
INTERVAL = 1.0
#: bytes that may come before the next look
MOST_BEFORE_LOOK = 64 * 1024 * 1024


class Listening:
    """What listeners of both families add to waitress's: they know the front."""

    channel_class = Connection
    parser_class = Parser

    def __init__(self, front: "Front", *args: Any, **named: Any) -> None:
        self.front = front
        self.longest_body = front.longest_body
        self.client_timeout = front.client_timeout
        self.look_again: Callable[[Connection], None] = front.look_again
        self.note_held: Callable[[int], None] = front.note_held
        super().__init__(*args, **named)

    @property
    def stopping(self) -> bool:
        """Whether connections end with the answer they wait for."""
        return self.front.stopping

    def readable(self) -> bool:
        """Whether connections are accepted."""
        return bool(self.accepting)  # type: ignore[attr-defined]

    def handle_accept(self) -> None:
        """Accept the connections that wait, some at a time."""
        for _ in range(MOST_ACCEPTED):
            try:
                accepted = self.accept()  # type: ignore[attr-defined]
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self.front.make_room()
                return
            if accepted is None:
                return
            sock, address = accepted
            self.front.make_room_for_one()
            try:
                self.set_socket_options(sock)  # type: ignore[attr-defined]
                address = self.fix_addr(address)  # type: ignore[attr-defined]
                self.channel_class(self, sock, address, self.adj, map=self._map)  # type: ignore
            except OSError:
                # gone already
                sock.close()

    def add_task(self, connection: Connection) -> None:
        """Hand the connection's next request to a thread."""
        self.front.hand_out(connection)

    def pull_trigger(self) -> None:
        """Nothing: threads say which connection they mean, with `look_again`."""


class TcpListener(Listening, TcpWSGIServer):
    """Listens on an address."""


class UnixListener(Listening, UnixWSGIServer):
    """Listens on a socket file."""


class Front:
    """Connections, the loop and the threads of a worker.

    A thread belongs to a request that has been read whole, not to a connection. Requests that need
    no identity have a thread of their own, so they never wait for others.

    :param listeners: listening sockets
    :param wake_up: the read end of a pipe; what is written to it ends a turn's waiting
    :param threads: for requests
    :param connections: at most; for one more, the client that is waited for longest has to go
    :param client_timeout: seconds in which a client has to send a request, and to go on reading
    :param longest_body: bytes
    :param most_held: bytes of requests and of answers that aren't read, in memory and in files; if
        there are more, the clients that are waited for longest have to go
    """

    def __init__(
        self,
        application: WSGIApplication,
        listeners: Iterable[socket.socket],
        wake_up: int,
        threads: int,
        connections: int,
        client_timeout: float,
        longest_body: int,
        most_held: int,
    ) -> None:
        self.client_timeout = client_timeout
        self.longest_body = longest_body
        self.connections = connections
        self.most_held = most_held
        #: no more requests with long bodies are taken for now
        self._is_full = False
        #: bytes that have come since the last look; threads count, too, so it is about right
        self._came = 0
        self.stopping = False
        self._sockets = Sockets()
        self._sockets.watch(wake_up)
        self._rung = False
        self._next_look = 0.0
        self._requests, self._open = ThreadedTaskDispatcher(), ThreadedTaskDispatcher()
        self._requests.set_thread_count(threads)
        self._open.set_thread_count(1)
        application = Refusing(application)
        self._listeners = [self._listen(application, listener) for listener in listeners]

    def _listen(self, application: WSGIApplication, listener: socket.socket) -> Any:
        family = listener.family
        kind = UnixListener if family == socket.AF_UNIX else TcpListener
        name = listener.getsockname()
        settings = Adjustments(
            sockets=[listener],
            server_name="localhost" if family == socket.AF_UNIX else str(name[0]),
            ident=None,
            # oslo.middleware reads them if the operator wants it
            clear_untrusted_proxy_headers=False,
            backlog=2048,
            max_request_header_size=LONGEST_HEAD,
            # the parser of ours knows the bound
            max_request_body_size=2**62,
            inbuf_overflow=BODY_IN_MEMORY,
            outbuf_overflow=ANSWER_IN_MEMORY,
            # never let a thread wait for a client that reads slowly: a file takes the answer
            outbuf_high_watermark=2**62,
            # a client that leaves is noticed: environ["waitress.client_disconnected"]
            channel_request_lookahead=1,
            log_socket_errors=False,
        )
        info = (family, listener.type, listener.proto, name)
        return kind(
            self,
            application,
            self._sockets,
            True,
            listener,
            dispatcher=self._requests,
            adj=settings,
            sockinfo=info,
            bind_socket=False,
        )

    # for the loop

    def turn(self, seconds: float = INTERVAL) -> None:
        """Do what there is to do; if there is nothing, wait for at most this long."""
        self._rung = False
        self._sockets.turn(seconds)
        now = time.monotonic()
        if now >= self._next_look or self._came > MOST_BEFORE_LOOK:
            self._next_look = now + INTERVAL
            self._came = 0
            self._look(now)

    def stop_accepting(self) -> None:
        """From now on, only finish what has begun."""
        self.stopping = True
        for listener in self._listeners:
            listener.accepting = False
            listener.del_channel()

    def has_finished(self) -> bool:
        """Whether nothing is left that has begun; ends connections at rest."""
        now = time.monotonic()
        for connection in self._connected():
            fresh = not connection.served and now - connection.waiting_since < FRESH
            if connection.is_idle() and not fresh:
                connection.handle_close()
        return not self._connected()

    def close(self) -> None:
        """End all connections and threads, whatever they do."""
        for connection in self._connected():
            connection.handle_close()
        self._open.shutdown(timeout=0)
        self._requests.shutdown(timeout=0)

    def _connected(self) -> list[Connection]:
        return [
            connection
            for listener in self._listeners
            # a copy: threads may end a connection, too
            for connection in list(listener.active_channels.values())
        ]

    def _look(self, now: float) -> None:
        connected = self._connected()
        for connection in connected:
            if connection.waits_for_client() and (
                now - connection.waiting_since > self.client_timeout
            ):
                connection.handle_close()
            elif connection.ended_sending is not None:
                connection.ask_if_there()
        self._bound_held({one: held for one in connected if (held := one.held())})

    def _bound_held(self, held: dict[Connection, int]) -> None:
        total = sum(held.values())
        waiting = [one for one in held if one.waits_for_client()]
        for connection in sorted(waiting, key=lambda one: one.waiting_since):
            if total <= self.most_held:
                break
            total -= held[connection]
            connection.handle_close()
        self._is_full = total > self.most_held

    def make_room_for_one(self) -> None:
        """Keep the bound on connections."""
        if len(self._sockets) >= self.connections:
            self.make_room()

    def make_room(self) -> None:
        """End the connection whose client we wait for longest."""
        waiting = [one for one in self._connected() if one.waits_for_client()]
        if waiting:
            min(waiting, key=lambda one: one.waiting_since).handle_close()

    # for all threads

    def look_again(self, connection: Connection) -> None:
        """Have the loop see to a connection that a thread has changed."""
        self._sockets.look_again(connection)
        if not self._rung:
            self._rung = True
            self._listeners[0].trigger.pull_trigger()

    def note_held(self, count: int) -> None:
        """Count bytes that have come to be held."""
        self._came += count

    def hand_out(self, connection: Connection) -> None:
        """Have the connection's next request answered when its turn comes."""
        if not connection.begin():
            self.look_again(connection)
            return
        request = connection.requests[0]
        if request.error is None and request.path not in OPEN_PATHS:
            too_much = self._is_full and request.held() > BODY_IN_MEMORY
            if len(self._requests.queue) < MOST_WAITING and not too_much:
                self._requests.add_task(connection)
                return
            request.error = Busy()
        self._open.add_task(connection)
