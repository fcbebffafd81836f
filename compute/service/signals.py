"""Signals that ask a process to end take effect between two pieces of work, not within one."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Self

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """A context in which the first of STOP_SIGNALS only sets `stop_requested`; a second one raises.

    The second raises KeyboardInterrupt, wherever the process is. For the main thread.
    """

    def __init__(self) -> None:
        self.stop_requested = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in STOP_SIGNALS:
            self._handle(number, self._stop)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, handler: Callable[[int, FrameType | None], None]) -> None:
        self._before[number] = signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.stop_requested:
            raise KeyboardInterrupt
        self.stop_requested = True


@contextlib.contextmanager
def finished_first() -> Iterator[None]:
    """Let the body finish before a signal raises KeyboardInterrupt.

    A second one raises it at once. For the main thread.
    """
    with Interruption() as interruption:
        yield
    if interruption.stop_requested:
        raise KeyboardInterrupt


@contextlib.contextmanager
def termination_interrupts() -> Iterator[None]:
    """While this lasts, SIGTERM raises KeyboardInterrupt as SIGINT does. For the main thread."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
