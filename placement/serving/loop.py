"""The event loop: the open sockets, and the events that each waits for.

Waitress asks every socket in every turn which events it waits for. This loop asks a socket only
after something has happened to it, so that idle connections cost nothing.
"""

import collections
import select
from typing import Any

from waitress import wasyncore

#: the events for "readable"
_READ = select.EPOLLIN | select.EPOLLPRI


class Sockets(dict[int, Any]):
    """The open sockets by file descriptor; used as waitress's `map`."""

    def __init__(self) -> None:
        super().__init__()
        self._epoll = select.epoll()
        self._waited_for: dict[int, int] = {}
        #: sockets to be asked again; threads append, too
        self._changed: collections.deque[Any] = collections.deque()

    def __setitem__(self, number: int, socket: Any) -> None:
        super().__setitem__(number, socket)
        self._changed.append(socket)

    def __delitem__(self, number: int) -> None:
        super().__delitem__(number)
        if self._waited_for.pop(number, None) is not None:
            self._epoll.unregister(number)

    def watch(self, number: int) -> None:
        """Wake up when a pipe becomes readable; the pipe's owner reads it, not the loop."""
        self._epoll.register(number, select.EPOLLIN | select.EPOLLET)

    def look_again(self, socket: Any) -> None:
        """Ask the socket for its events before the loop waits again. Any thread may call this."""
        self._changed.append(socket)

    def turn(self, seconds: float) -> None:
        """Handle events; if there are none, wait for at most this many seconds."""
        while self._changed:
            self._ask(self._changed.popleft())
        for number, flags in self._epoll.poll(seconds):
            if number in self:
                socket = self[number]
                wasyncore.readwrite(socket, flags)
                self._ask(socket)

    def _ask(self, socket: Any) -> None:
        number = socket._fileno
        if number not in self or self[number] is not socket:
            # closed in the meantime
            return
        # False first: a thread that changes the result of `readable` now will call `look_again`
        socket.is_read = False
        socket.is_read = bool(socket.readable())
        flags = _READ if socket.is_read else 0
        if socket.writable() and not socket.accepting:
            flags |= select.EPOLLOUT
        before = self._waited_for.get(number)
        if before is None:
            self._epoll.register(number, flags)
        elif before != flags:
            self._epoll.modify(number, flags)
        self._waited_for[number] = flags
