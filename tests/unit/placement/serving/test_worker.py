"""What the gunicorn worker tells gunicorn."""

import os
import types

import pytest

from placement.serving import worker


@pytest.fixture
def told(monkeypatch):
    """Return the moments at which a worker says that it lives; each turn takes 0.3 seconds."""
    clock = types.SimpleNamespace(now=0.0, turns=0)
    made = object.__new__(worker.FrontWorker)
    moments = []

    class Turning:
        def __init__(self, *_, **__):
            pass

        def turn(self):
            clock.now, clock.turns = clock.now + 0.3, clock.turns + 1
            made.alive = clock.turns < 10

    monkeypatch.setattr(worker, "Front", Turning)
    monkeypatch.setattr(worker.time, "monotonic", lambda: clock.now)
    made.notify = lambda: moments.append(round(clock.now, 1))
    made._finish = lambda front: None
    made.alive, made.ppid, made.PIPE, made.sockets, made.wsgi = True, os.getppid(), (0, 0), [], None
    made.cfg = types.SimpleNamespace(threads=1)
    made.app = types.SimpleNamespace(client_timeout=1, longest_body=1, most_held=1, measured=None)
    made.run()
    return moments


def test_a_busy_worker_tells_that_it_lives_once_a_second(told):
    assert told == [0.0, 1.2, 2.4]
