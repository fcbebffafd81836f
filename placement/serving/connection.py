"""One connection: what its client owes, and what it is owed."""

import functools
import socket
import time
from typing import Any

from waitress.channel import HTTPChannel

from placement.serving.answering import RefusalTask, Task

#: seconds, and bytes, that a client whose request is refused may go on sending it: a connection
#: closed before that takes the answer with it
LINGERS = 5.0
LINGERS_BYTES = 512 * 1024


class Connection(HTTPChannel):
    """A client's connection. No thread ever waits for the client.

    Requests are read, and answers sent, by the loop; a thread has the connection between the two.
    Of several requests in a row each waits until the answer to the one before has been read.
    """

    task_class = Task
    error_task_class = RefusalTask
    #: a request waits until the answer before it is read
    parked = False
    #: the loop waits for what the client sends
    is_read = False
    #: the answer is out, the rest of a refused request is thrown away
    lingering = False
    #: a request was refused before it was read to its end
    cut_off = False

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Any, map: Any) -> None:
        #: since when the client has had its turn: to send, or to go on reading
        self.waiting_since = time.monotonic()
        #: requests of this connection, answered or begun to be
        self.served = 0
        self._thrown_away = 0
        super().__init__(server, sock, addr, adj, map=map)
        self.parser_class = functools.partial(server.parser_class, longest_body=server.longest_body)

    def received(self, data: bytes) -> bool:
        """Take what the client sent."""
        if self.request is None:
            self.waiting_since = time.monotonic()
        return bool(super().received(data))

    def waits_for_client(self) -> bool:
        """Whether it is the client's turn."""
        return not self.requests or self.parked

    def is_idle(self) -> bool:
        """Whether nothing has begun that could be finished."""
        return not (self.requests or self.request is not None or self.total_outbufs_len)

    def begin(self) -> bool:
        """Whether the next request may have a thread now; if not, it will be asked for again."""
        self.parked = bool(self.total_outbufs_len)
        self.served += not self.parked
        return not self.parked

    # for the loop

    def readable(self) -> bool:
        """Whether to read from the client."""
        return self.lingering or bool(super().readable())

    def writable(self) -> bool:
        """Whether there is something to send or to end."""
        return not self.lingering and bool(self.parked or super().writable())

    def handle_read(self) -> None:
        """Read what is there, or throw it away."""
        if not self.lingering:
            super().handle_read()
            return
        self._thrown_away += len(self.recv(self.adj.recv_bytes))
        if self._thrown_away > LINGERS_BYTES:
            self.handle_close()

    def handle_write(self) -> None:
        """Send what there is to send; then it is the next request's turn."""
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
        if self.parked and self.connected and not self.total_outbufs_len:
            self.server.add_task(self)

    def _forget_sent(self) -> None:
        """Give memory and disk back; waitress would keep an answer as long as the connection."""
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
        """Answer the first request, on a thread."""
        request = self.requests[0]
        self.cut_off = request.error is not None or request.too_long
        try:
            super().service()
        finally:
            self.waiting_since = time.monotonic()
            self._forget_sent()
            # mostly the answer is out and the loop waits for the next request already
            if not self.is_read or self.writable():
                self.server.look_again(self)

    def write_soon(self, data: Any) -> int:
        """Take a part of an answer, whether the client reads it or not."""
        written: int = super().write_soon(data)
        if self.total_outbufs_len:
            self.server.look_again(self)
        return written
