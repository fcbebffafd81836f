"""Requests that plan moves take turns: one of a process is answered, the others wait in line.

A plan may cost some 20 seconds of processor time. Several at once would take as much longer each,
and would keep threads and the processor from requests that must not wait. While a request plans or
waits in line, another thread answers other requests. Where a server can't do so, no more wait than
for changes (`Call.waits`).
"""

import contextlib
import threading
import time
from collections.abc import Iterator

from placement.errors import SearchAbandoned, TooManyPlans
from placement.http.call import Call
from placement.http.environ import STAND_IN

#: how many requests wait at most
MOST_WAITING = 8
#: how many seconds a request waits at most: what three plans take
LONGEST_WAIT = 60
#: how many seconds pass until a request that waits looks whether its client is still there
LOOK_EVERY = 1

_TURN = threading.Lock()
_CHANGING = threading.Lock()
#: those that wait
_line: set[object] = set()


@contextlib.contextmanager
def turn_of(call: Call) -> Iterator[None]:
    """Wait until no other request of this process plans, and keep others waiting for the block.

    Raises TooManyPlans if too many wait, if the turn doesn't come in time, or if the server stops;
    SearchAbandoned if the client leaves before.
    """
    with call.stand_in():
        if not _TURN.acquire(blocking=False):
            with _place_in_line(MOST_WAITING if STAND_IN in call.environ else call.waits):
                _await_turn(call)
        try:
            yield
        finally:
            _TURN.release()


@contextlib.contextmanager
def _place_in_line(most: int) -> Iterator[None]:
    place = object()
    with _CHANGING:
        if len(_line) >= most:
            raise TooManyPlans()
        _line.add(place)
    try:
        yield
    finally:
        _line.remove(place)


def _await_turn(call: Call) -> None:
    end = time.monotonic() + LONGEST_WAIT
    while not _TURN.acquire(timeout=LOOK_EVERY):
        if call.client_left():
            raise SearchAbandoned()
        if call.server_stops() or time.monotonic() >= end:
            raise TooManyPlans()
