"""The loop: which sockets there are, and what is waited for on each.

Waitress asks each socket each time what it waits for. Here a socket is asked when something has
happened to it, so that connections at rest cost nothing.
"""

import collections
import select
from typing import Any

from waitress import wasyncore

#: what the two ends of a pipe or socket are asked about
_READ = select.EPOLLIN | select.EPOLLPRI


class Sockets(dict[int, Any]):
    """The open sockets by number, waitress's `map`."""

    def __init__(self) -> None:
        super().__init__()
        self._epoll = select.epoll()
        self._waited_for: dict[int, int] = {}
        #: those to be asked again; threads add to it
        self._changed: collections.deque[Any] = collections.deque()

    def __setitem__(self, number: int, socket: Any) -> None:
        super().__setitem__(number, socket)
        self._changed.append(socket)

    def __delitem__(self, number: int) -> None:
        super().__delitem__(number)
        if self._waited_for.pop(number, None) is not None:
            self._epoll.unregister(number)

    def watch(self, number: int) -> None:
        """Wake up when a pipe that isn't ours to read has something."""
        self._epoll.register(number, select.EPOLLIN | select.EPOLLET)

    def look_again(self, socket: Any) -> None:
        """Ask the socket what it waits for, before the loop waits again. For all threads."""
        self._changed.append(socket)

    def turn(self, seconds: float) -> None:
        """Do what there is to do; if there is nothing, wait for at most this long."""
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
            # closed meanwhile
            return
        # a thread that changes the answer to `readable` meanwhile finds this and has us ask again
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
