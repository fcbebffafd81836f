"""The machine's clock steps forth and back: only reported times show it (architecture.rst D4)."""

import contextlib
import email.utils
import os

import pytest

from tests.faults.load import WRITERS, begin, wrong_candidates
from tests.faults.running import Client, running
from tests.faults.tables import broken_rules, part_of, shared_generation
from tests.faults.writers import SHARED

#: replaces functions that return the time of day in the service's processes; the file `clock` has a
#: step in seconds. The monotonic clock isn't changed
CODE = """
import datetime, pathlib, time

FILE = pathlib.Path({path!r})
now, real = time.time, datetime.datetime

class OfType(type):
    def __instancecheck__(cls, thing):
        return isinstance(thing, real)

class Stepped(real, metaclass=OfType):
    @classmethod
    def now(cls, tz=None):
        return real.fromtimestamp(time.time(), tz)

time.time = lambda: now() + float(FILE.read_text())
datetime.datetime = Stepped
"""
HOUR, DAY = 3_600, 86_400
WRITES = 8


@pytest.fixture
def clock(tmp_path):
    """Return the file with the step of the service's clock."""
    file = tmp_path / "clock"
    file.write_text("0")
    return file


@pytest.fixture
def database_kind():
    """Return SQLite only: no database's clock is used."""
    return "sqlite"


@pytest.fixture
def service(database_url, clock):
    # audits run continuously, so that the step happens during one
    options = {"BERTH__SNAPSHOT_AUDIT_INTERVAL": "0.05"}
    with running(database_url, code=CODE.format(path=str(clock)), **options) as service:
        yield service


def modified(service, path):
    """Return a response's Last-Modified in seconds."""
    with contextlib.closing(service.connect()) as connection:
        connection.request("GET", path, headers=service.headers())
        response = connection.getresponse()
        response.read()
    return email.utils.parsedate_to_datetime(response.headers["last-modified"]).timestamp()


def write(service, writers):
    for writer in writers:
        left = iter(range(WRITES))
        writer.run(Client(service.path), lambda left=left: next(left, None) is None)


def test_the_service_works_when_the_clock_steps_forth_and_back(service, database_url, clock):
    writers = begin(service)
    write(service, writers)
    before = modified(service, f"/resource_providers/{SHARED}")
    assert wrong_candidates(service, database_url) == []

    for step in (2 * DAY, -HOUR):
        # the service reads the file all the time: it never finds it empty
        ahead = clock.with_suffix(".new")
        ahead.write_text(str(step))
        os.replace(ahead, clock)
        write(service, writers)
        assert wrong_candidates(service, database_url) == []

    for writer in writers:
        writer.settle(part_of(database_url, writer))
    assert [writer.wrong for writer in writers] == [[]] * WRITERS
    steps = 1 + sum(writer.part.shared_steps for writer in writers)
    assert shared_generation(database_url) == steps
    assert broken_rules(database_url) == {}
    assert "changed behind" not in service.log.read_text()
    # the step is visible in reported times
    assert modified(service, f"/resource_providers/{SHARED}") < before - HOUR / 2
