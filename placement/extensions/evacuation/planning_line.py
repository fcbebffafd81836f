"""Requests that plan moves take turns: one of a process is answered, the others wait in line.

A plan may cost some 20 seconds of processor time. Several at once would take as much longer each,
and would keep threads and the processor from requests that must not wait. While a request plans or
waits in line, another thread answers other requests, as far as the server can.
"""

import contextlib
import threading
import time
from collections.abc import Iterator

from placement.errors import SearchAbandoned, TooManyPlans
from placement.http.call import Call

#: how many requests wait at most
MOST_WAITING = 8
#: how many seconds a request waits at most: what three plans take
LONGEST_WAIT = 60
#: how many seconds pass until a request that waits looks whether its client is still there
LOOK_EVERY = 1

_TURN = threading.Lock()
#: of those that wait and the one that plans
_LINE = threading.BoundedSemaphore(1 + MOST_WAITING)


@contextlib.contextmanager
def turn_of(call: Call) -> Iterator[None]:
    """Wait until no other request of this process plans, and keep others waiting for the block.

    Raises TooManyPlans if too many wait, if the turn doesn't come in time, or if the server stops;
    SearchAbandoned if the client leaves before.
    """
    if not _LINE.acquire(blocking=False):
        raise TooManyPlans()
    try:
        with call.stand_in():
            _await_turn(call)
            try:
                yield
            finally:
                _TURN.release()
    finally:
        _LINE.release()


def _await_turn(call: Call) -> None:
    end = time.monotonic() + LONGEST_WAIT
    while not _TURN.acquire(timeout=LOOK_EVERY):
        if call.client_left():
            raise SearchAbandoned()
        if call.server_stops() or time.monotonic() >= end:
            raise TooManyPlans()
