"""Ctrl+C and SIGTERM end the demonstration, and nothing disturbs it while it puts things away."""

import signal
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Ended(Exception):
    """Somebody asked the demonstration to end."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


def end_at_signals() -> None:
    """Raise Ended at the first signal. Later ones are ignored: terminals and tox send several."""
    for each in _SIGNALS:
        signal.signal(each, _end)


def _end(number: int, _: FrameType | None) -> None:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Ended(number)
