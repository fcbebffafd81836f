"""One connection: its requests, its unsent responses, and its timeouts."""

import functools
import socket
import time
from collections.abc import Callable
from typing import Any

from waitress.channel import ClientDisconnected, HTTPChannel

from placement.serving.request_tasks import RefusalTask, Task

#: seconds, and bytes, for which a client may go on sending a request that was rejected early. If
#: the server closed the connection at once, the client might lose the response before it reads it
LINGERS = 5.0
LINGERS_BYTES = 512 * 1024
#: bytes sent to one client before the loop turns to others, and bytes of one system call
SHARE = 1024 * 1024
AT_ONCE = 128 * 1024
#: seconds between the end of a client's sending and the probe whether the client is connected
ASKS_AFTER = 1.0
STILL_THERE = b"HTTP/1.1 100 Continue\r\n\r\n"


class ClientConnection(HTTPChannel):
    """A client's connection. No thread ever waits for the client.

    The loop reads requests and sends responses. Between the two, a thread runs the application. If
    a client sends several requests in a row, each request waits until the response to the one
    before has been sent.

    A client may close its sending half and wait for the response. To TCP, this looks the same as a
    client that is gone, until the server sends something. So after ASKS_AFTER the loop sends an
    interim response, `100 Continue`. A client must ignore it. If the client is gone, its system
    resets the connection.
    """

    task_class = Task
    error_task_class = RefusalTask
    #: the next request waits until the response before it has been sent
    parked = False
    #: the loop waits for data from the client
    is_read = False
    #: the error is sent; the rest of the rejected request is read and discarded
    lingering = False
    #: the current request was rejected before its end was read
    cut_off = False
    #: when the client closed its sending half (monotonic time)
    ended_sending: float | None = None
    #: some of the response to the first request has been sent, or the interim response
    answered = False
    #: parts of a response that are kept to be sent in one piece
    _together: list[bytes] | None = None

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Any, map: Any) -> None:
        #: since when the server waits for the client to send or to read (monotonic time)
        self.waiting_since = time.monotonic()
        #: number of requests handed to a thread
        self.served = 0
        self._thrown_away = 0
        super().__init__(server, sock, addr, adj, map=map)
        self.parser_class = functools.partial(server.parser_class, longest_body=server.longest_body)

    def received(self, data: bytes) -> bool:
        """Pass data from the client to the parser."""
        if self.request is None:
            self.waiting_since = time.monotonic()
        self.server.note_held(len(data))
        return bool(super().received(data))

    def waits_for_client(self) -> bool:
        """Return whether the server waits for the client, not for the application."""
        return not self.requests or self.parked

    def is_idle(self) -> bool:
        """Return whether there is neither a request, complete or not, nor an unsent response."""
        return not (self.requests or self.request is not None or self.total_outbufs_len)

    def held(self) -> int:
        """Return the size of requests and unsent responses, in bytes, in memory and in files."""
        requests = [*self.requests, self.request]
        return sum(one.held() for one in requests if one is not None) + self.total_outbufs_len

    def check_client_disconnected(self) -> bool:
        """Return whether the client is gone; the application calls this.

        A client with HTTP/1.0 doesn't understand an interim response. If such a client has closed
        its sending half, it counts as gone; it still gets a response.
        """
        if not self.connected:
            return True
        first = self.requests[:1]
        return self._is_to_be_asked() and bool(first) and first[0].version != "1.1"

    def begin(self) -> bool:
        """Return whether a thread may run the next request now.

        If not, `handle_write` hands the connection out again once the last response is sent.
        """
        self.parked = bool(self.total_outbufs_len)
        if not self.parked:
            self.served += 1
            self.answered = False
        return not self.parked

    # for the loop

    def readable(self) -> bool:
        """Return whether to read from the client."""
        if self.ended_sending is not None:
            return False
        return self.lingering or bool(super().readable())

    def writable(self) -> bool:
        """Return whether there is something to send or the connection is to be closed."""
        if self.lingering:
            return False
        return bool(self.parked or super().writable() or self._is_finished())

    def handle_read(self) -> None:
        """Read available data; discard it if the connection lingers."""
        try:
            data = self.socket.recv(self.adj.recv_bytes)
        except BlockingIOError:
            return
        except OSError:
            self.handle_close()
            return
        if not data:
            self.ended_sending = time.monotonic()
            if self.lingering or self._is_finished():
                self.handle_close()
        elif not self.lingering:
            self.received(data)
        else:
            self._thrown_away += len(data)
            if self._thrown_away > LINGERS_BYTES:
                self.handle_close()

    def handle_write(self) -> None:
        """Send as much as possible; once all is sent, continue with a parked request."""
        before = self.total_outbufs_len
        if self.close_when_flushed and self.cut_off and not self.will_close:
            self._flush_exception(self._flush_some)
            if self.connected and not self.will_close and not self.total_outbufs_len:
                self._linger()
        else:
            super().handle_write()
        if self.total_outbufs_len < before:
            self.waiting_since = time.monotonic()
            self._forget_sent()
        if self.connected and self._is_finished():
            self.handle_close()
        if self.parked and self.connected and not self.total_outbufs_len:
            self.server.add_task(self)

    def ask_if_there(self) -> None:
        """Send an interim response to a client that may be gone, once for each request."""
        if not self._is_to_be_asked() or not self.outbuf_lock.acquire(blocking=False):
            return
        try:
            if self.requests and self.requests[0].version == "1.1" and not self.answered:
                self.answered = True
                self.send(STILL_THERE)
        finally:
            self.outbuf_lock.release()

    def _is_to_be_asked(self) -> bool:
        ended = self.ended_sending
        return ended is not None and time.monotonic() - ended > ASKS_AFTER

    def _is_finished(self) -> bool:
        """Return whether all requests are answered and the client can't send more."""
        return self.ended_sending is not None and not (self.requests or self.total_outbufs_len)

    def _forget_sent(self) -> None:
        """Free the memory and disk of sent data; waitress would keep them until the close."""
        with self.outbuf_lock:
            if self.connected and not self.total_outbufs_len:
                self.outbufs[-1].prune()

    def _linger(self) -> None:
        self.lingering = True
        self.close_when_flushed = False
        self.waiting_since = time.monotonic() - self.server.client_timeout + LINGERS
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()

    # for threads

    def service(self) -> None:
        """Run the first request, on a thread."""
        request = self.requests[0]
        self.cut_off = request.error is not None or request.too_long
        try:
            super().service()
        finally:
            self.waiting_since = time.monotonic()
            self._forget_sent()
            # usually the response is sent and the loop already waits for the next request
            if not self.is_read or self.writable():
                self.server.look_again(self)

    def send_together(self, write: Callable[[], None]) -> None:
        """Send what a function writes in one piece. Raises what it and `write_soon` raise."""
        pieces: list[bytes] = []
        self._together = pieces
        try:
            write()
        finally:
            self._together = None
        self.write_soon(b"".join(pieces))

    def write_soon(self, data: bytes) -> int:
        """Send a part of a response; buffer what the system doesn't accept, for the loop.

        Never waits for the client. Returns the length of the data. Raises ClientDisconnected.
        """
        if self._together is not None:
            self._together.append(data)
            return len(data)
        with self.outbuf_lock:
            if not self.connected:
                raise ClientDisconnected
            self.answered = True
            kept = memoryview(data)
            if not self.total_outbufs_len:
                kept = kept[self._send_now(kept) :]
            if kept:
                self.outbufs[-1].append(kept)
                self.total_outbufs_len += len(kept)
        if kept:
            self.server.note_held(len(kept))
            self.server.look_again(self)
        return len(data)

    def _send_now(self, data: memoryview) -> int:
        try:
            return int(self.send(data, do_close=False))
        except OSError:
            # the loop closes the connection
            self.will_close = True
            return 0

    def _flush_some(self, do_close: bool = True) -> bool:
        """Send what the system accepts, but stop after SHARE bytes, unlike waitress."""
        sent = 0
        while sent < SHARE and self.total_outbufs_len:
            part = self.outbufs[0].get(AT_ONCE)
            now = self.send(part, do_close=do_close)
            if not now:
                break
            self.outbufs[0].skip(now, True)
            self.total_outbufs_len -= now
            sent += now
        return sent > 0
