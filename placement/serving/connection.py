"""One connection: what its client owes, and what it is owed."""

import functools
import socket
import time
from typing import Any

from waitress.channel import ClientDisconnected, HTTPChannel

from placement.serving.request_tasks import RefusalTask, Task

#: seconds, and bytes, that a client whose request is refused may go on sending it: a connection
#: closed before that takes the answer with it
LINGERS = 5.0
LINGERS_BYTES = 512 * 1024
#: bytes sent to a client before others have their turn, and bytes handed to the system at once
SHARE = 1024 * 1024
AT_ONCE = 128 * 1024
#: seconds after which a client that has ended its sending is asked whether it is still there
ASKS_AFTER = 1.0
STILL_THERE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection(HTTPChannel):
    """A client's connection. No thread ever waits for the client.

    Requests are read, and answers sent, by the loop; a thread has the connection between the two.
    Of several requests in a row each waits until the answer to the one before has been read.

    A client may end its sending and wait for the answer. TCP shows a client that left in the same
    way until something is sent to it. So after a while it is sent an interim answer, which every
    client has to overlook, and which the system of a client that left refuses.
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
    #: since when the client has sent all that it will send
    ended_sending: float | None = None
    #: the answer to the first request has begun, or its client has been asked whether it is there
    answered = False

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
        self.server.note_held(len(data))
        return bool(super().received(data))

    def waits_for_client(self) -> bool:
        """Whether it is the client's turn."""
        return not self.requests or self.parked

    def is_idle(self) -> bool:
        """Whether nothing has begun that could be finished."""
        return not (self.requests or self.request is not None or self.total_outbufs_len)

    def held(self) -> int:
        """Bytes in memory and in files: requests, and answers that aren't read."""
        requests = [*self.requests, self.request]
        return sum(one.held() for one in requests if one is not None) + self.total_outbufs_len

    def check_client_disconnected(self) -> bool:
        """Whether the client has left, for the application.

        Who speaks HTTP/1.0 can't be asked, and is taken for gone. It still gets an answer.
        """
        if not self.connected:
            return True
        first = self.requests[:1]
        return self._is_to_be_asked() and bool(first) and first[0].version != "1.1"

    def begin(self) -> bool:
        """Whether the next request may have a thread now; if not, it will be asked for again."""
        self.parked = bool(self.total_outbufs_len)
        if not self.parked:
            self.served += 1
            self.answered = False
        return not self.parked

    # for the loop

    def readable(self) -> bool:
        """Whether to read from the client."""
        if self.ended_sending is not None:
            return False
        return self.lingering or bool(super().readable())

    def writable(self) -> bool:
        """Whether there is something to send or to end."""
        if self.lingering:
            return False
        return bool(self.parked or super().writable() or self._is_finished())

    def handle_read(self) -> None:
        """Read what is there, or throw it away."""
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
        if self.connected and self._is_finished():
            self.handle_close()
        if self.parked and self.connected and not self.total_outbufs_len:
            self.server.add_task(self)

    def ask_if_there(self) -> None:
        """Send something to a client that may have left, once for each request."""
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
        """Whether all that the client asked for is answered, and it asks for nothing more."""
        return self.ended_sending is not None and not (self.requests or self.total_outbufs_len)

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

    def write_soon(self, data: bytes) -> int:
        """Take a part of an answer, whether the client reads it or not.

        It goes out at once if the system takes it; what it doesn't take is for the loop. Raises
        ClientDisconnected.
        """
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
            # the loop finds it out, too
            self.will_close = True
            return 0

    def _flush_some(self, do_close: bool = True) -> bool:
        """Send what the system takes, but no more than a share; waitress would go on."""
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
