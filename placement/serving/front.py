"""The front of a worker: accepts connections, reads requests and hands them to threads."""

import errno
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer, UnixWSGIServer

from placement.http.environ import StandIn, WSGIApplication
from placement.http.probes import PATHS as PROBE_PATHS
from placement.serving.connection import ClientConnection
from placement.serving.loop import Sockets
from placement.serving.request_parser import LONGEST_HEAD, BoundedRequestParser
from placement.serving.request_tasks import Busy, Refusing
from placement.serving.threads import Threads

#: maximum number of requests that wait for a thread
MOST_WAITING = 1_000
#: maximum bytes in memory of one body and of one response; longer ones are in files
BODY_IN_MEMORY = 64 * 1024
ANSWER_IN_MEMORY = 256 * 1024
#: requests to these paths have a separate thread, because nothing delays them
UNHINDERED = ("", "/")
#: headers whose value keystone may be asked about, which takes time
_TOKENS = ("X_AUTH_TOKEN", "X_SERVICE_TOKEN", "X_STORAGE_TOKEN")
#: seconds for which a new connection isn't closed at a stop, because a request may be on its way
FRESH = 2.0
#: seconds that idle threads have to end at a stop
WAIT_FOR_THREADS = 0.5
#: seconds between checks for clients that are too slow or whose data takes too much space
INTERVAL = 1.0
#: bytes received or buffered that cause an earlier check
MOST_BEFORE_LOOK = 64 * 1024 * 1024


class Listening:
    """Mixin for listeners of both address families; connects waitress's code to the front."""

    channel_class = ClientConnection
    parser_class = BoundedRequestParser
    #: whether it accepts nothing until the next look: no file is left, and no client to close
    rests = False

    def __init__(self, front: "Front", *args: Any, **named: Any) -> None:
        self.front = front
        self.threads = front.threads
        self.longest_body = front.longest_body
        self.client_timeout = front.client_timeout
        self.look_again: Callable[[ClientConnection], None] = front.look_again
        self.note_held: Callable[[int], None] = front.note_held
        self.stand_in: StandIn = front.stand_in
        super().__init__(*args, **named)

    @property
    def stopping(self) -> bool:
        """Whether to close each connection after its current response."""
        return self.front.stopping

    def readable(self) -> bool:
        """Return whether the listener accepts connections."""
        return bool(self.accepting) and not self.rests  # type: ignore[attr-defined]

    def handle_accept(self) -> None:
        """Accept one waiting connection, and read what it has sent already.

        The others are accepted in the next turns, by any worker: to see that there is none takes as
        long as a turn. A request mostly comes with its connection; reading it now saves a turn.
        """
        try:
            accepted = self.accept()  # type: ignore[attr-defined]
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                # the next turn would fail in the same way, and take all of a processor
                self.rests = not self.front.make_room()
            return
        if accepted is None:
            return
        sock, address = accepted
        self.front.make_room_for_one()
        try:
            address = self.fix_addr(address)  # type: ignore[attr-defined]
            made = self.channel_class(self, sock, address, self.adj, map=self._map)  # type: ignore
        except OSError:
            # the client is gone already
            sock.close()
            return
        # the loop asks it before it waits, so no thread has to call `look_again`
        made.is_read = True
        wasyncore.read(made)

    def add_task(self, connection: ClientConnection) -> None:
        """Hand the connection's next request to a thread."""
        self.front.hand_out(connection)

    def pull_trigger(self) -> None:
        """Do nothing: threads call `look_again` with the connection instead."""


class TcpListener(Listening, TcpWSGIServer):
    """Listener on a TCP address."""


class UnixListener(Listening, UnixWSGIServer):
    """Listener on a socket file."""


class Front:
    """Connections, the loop and the threads of a worker.

    A thread is used for a request that has been read completely, not for a connection. Requests
    that need no authentication have a separate thread, so that they never wait for others.

    :param listeners: listening sockets
    :param wake_up: the read end of a pipe; a write to the pipe wakes up the loop
    :param threads: number of threads for requests
    :param connections: maximum number of connections. To accept one more, the front closes the
        connection whose client it waits for longest
    :param client_timeout: seconds in which a client must send a complete request, and the longest
        pause while it reads a response
    :param longest_body: maximum bytes of a request's body
    :param most_held: maximum bytes of requests and unsent responses, in memory and in files. Above
        this, the front closes the connections whose clients it waits for longest
    :param measured: wraps the application that answers rejected requests
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
        measured: Callable[[WSGIApplication], WSGIApplication] = lambda application: application,
    ) -> None:
        self.threads = threads
        self.client_timeout = client_timeout
        self.longest_body = longest_body
        self.connections = connections
        self.most_held = most_held
        #: whether requests with long bodies are rejected for now
        self._is_full = False
        #: bytes received or buffered since the last check; approximate, because threads add, too
        self._came = 0
        self.stopping = False
        self._sockets = Sockets()
        self._sockets.watch(wake_up)
        #: whether the loop is woken up already; after `close`, nobody may
        self._rung = False
        self._ringing = threading.Lock()
        self._next_look = 0.0
        self._requests, self._open = Threads(threads), Threads(1)
        application = Refusing(application, measured)
        self._listeners = [self._listen(application, listener) for listener in listeners]

    def _listen(self, application: WSGIApplication, listener: socket.socket) -> Any:
        family = listener.family
        kind = UnixListener if family == socket.AF_UNIX else TcpListener
        name = listener.getsockname()
        settings = Adjustments(
            sockets=[listener],
            server_name="localhost" if family == socket.AF_UNIX else str(name[0]),
            ident=None,
            # oslo.middleware reads them if [oslo_middleware]enable_proxy_headers_parsing is set
            clear_untrusted_proxy_headers=False,
            backlog=2048,
            max_request_header_size=LONGEST_HEAD,
            # our parser has the limit
            max_request_body_size=2**62,
            inbuf_overflow=BODY_IN_MEMORY,
            outbuf_overflow=ANSWER_IN_MEMORY,
            # never let a thread wait for a slow client: buffer the response in a file
            outbuf_high_watermark=2**62,
            # enables environ["waitress.client_disconnected"]
            channel_request_lookahead=1,
            log_socket_errors=False,
        )
        info = (family, listener.type, listener.proto, name)
        listening = kind(
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
        # Linux gives them to accepted connections, too
        listening.set_socket_options(listener)
        return listening

    # for the loop

    def turn(self, seconds: float = INTERVAL) -> None:
        """Handle events; if there are none, wait for at most this many seconds."""
        self._rung = False
        self._sockets.turn(seconds)
        now = time.monotonic()
        if now >= self._next_look or self._came > MOST_BEFORE_LOOK:
            self._next_look = now + INTERVAL
            self._came = 0
            self._look(now)

    def stop_accepting(self) -> None:
        """Stop accepting connections; only requests in progress are finished."""
        self.stopping = True
        for listener in self._listeners:
            listener.accepting = False
            listener.del_channel()

    def has_finished(self) -> bool:
        """Close idle connections; return whether no connection is left."""
        now = time.monotonic()
        for connection in self._connected():
            fresh = not connection.served and now - connection.waiting_since < FRESH
            if connection.is_idle() and not fresh:
                connection.handle_close()
        return not self._connected()

    def close(self) -> None:
        """Close all connections, and what wakes the loop, which ends with this.

        Threads that work for a request end after it, the others now.
        """
        for connection in self._connected():
            connection.handle_close()
        # idle threads end at once
        self._open.shutdown(timeout=WAIT_FOR_THREADS)
        self._requests.shutdown(timeout=WAIT_FOR_THREADS)
        with self._ringing:
            # a thread that still works would write into another file with that number
            self._rung = True
            for listener in self._listeners:
                listener.trigger.close()

    def _connected(self) -> list[ClientConnection]:
        return [
            connection
            for listener in self._listeners
            # a copy, because threads may close a connection, too
            for connection in list(listener.active_channels.values())
        ]

    def _look(self, now: float) -> None:
        for listener in self._listeners:
            if listener.rests:
                listener.rests = False
                self._sockets.look_again(listener)
        connected = self._connected()
        for connection in connected:
            if connection.waits_for_client() and (
                now - connection.waiting_since > self.client_timeout
            ):
                connection.handle_close()
            elif connection.ended_sending is not None:
                connection.ask_if_there()
        self._bound_held({one: held for one in connected if (held := one.held())})

    def _bound_held(self, held: dict[ClientConnection, int]) -> None:
        total = sum(held.values())
        waiting = [one for one in held if one.waits_for_client()]
        for connection in sorted(waiting, key=lambda one: one.waiting_since):
            if total <= self.most_held:
                break
            total -= held[connection]
            connection.handle_close()
        self._is_full = total > self.most_held

    def make_room_for_one(self) -> None:
        """Close a connection if the maximum number is reached."""
        if len(self._sockets) >= self.connections:
            self.make_room()

    def make_room(self) -> bool:
        """Close the connection whose client the front waits for longest; return whether one was."""
        waiting = [one for one in self._connected() if one.waits_for_client()]
        if waiting:
            min(waiting, key=lambda one: one.waiting_since).handle_close()
        return bool(waiting)

    # for all threads

    def look_again(self, connection: ClientConnection) -> None:
        """Tell the loop that a thread has changed the connection."""
        self._sockets.look_again(connection)
        if not self._rung:
            with self._ringing:
                if not self._rung:
                    self._rung = True
                    self._listeners[0].trigger.pull_trigger()

    def note_held(self, count: int) -> None:
        """Count bytes that were received or buffered."""
        self._came += count

    def stand_in(self) -> AbstractContextManager[None]:
        """Have another thread answer requests while the calling one waits."""
        return self._requests.stand_in()

    def hand_out(self, connection: ClientConnection) -> None:
        """Queue the connection's next request for a thread, or reject it with 503."""
        if not connection.begin():
            self.look_again(connection)
            return
        request = connection.requests[0]
        if request.error is None and not _is_unhindered(request):
            too_much = self._is_full and request.held() > BODY_IN_MEMORY
            if self._requests.waiting < MOST_WAITING and not too_much:
                self._requests.add_task(connection)
                return
            request.error = Busy()
        self._open.add_task(connection)


def _is_unhindered(request: BoundedRequestParser) -> bool:
    """Return whether the request has a separate thread. Probes have no token."""
    if request.path in PROBE_PATHS:
        return not any(token in request.headers for token in _TOKENS)
    return request.path in UNHINDERED
