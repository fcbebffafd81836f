"""The machine's clock steps back: only what tells times shows it (architecture.rst D4)."""

import contextlib
import email.utils

import pytest

from tests.faults.load import WRITERS, begin, wrong_candidates
from tests.faults.running import Client, running
from tests.faults.tables import broken_rules, part_of, shared_generation
from tests.faults.writers import SHARED

#: replaces what tells the time of day in the service's processes; `clock` holds a step in seconds.
#: The clock that never goes back, by definition, isn't touched
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
HOUR = 3600
WRITES = 25


@pytest.fixture
def clock(tmp_path):
    """The step of the service's clock, in a file."""
    file = tmp_path / "clock"
    file.write_text("0")
    return file


@pytest.fixture
def database_kind():
    """One is enough: no database's clock is asked."""
    return "sqlite"


@pytest.fixture
def service(database_url, clock):
    # audits run all the time, so that they meet the step, too
    options = {"BERTH__SNAPSHOT_AUDIT_INTERVAL": "0.05"}
    with running(database_url, code=CODE.format(path=str(clock)), **options) as service:
        yield service


def modified(service, path):
    """Seconds of an answer's Last-Modified."""
    with contextlib.closing(service.connect()) as connection:
        connection.request("GET", path, headers=service.headers())
        response = connection.getresponse()
        response.read()
    return email.utils.parsedate_to_datetime(response.headers["last-modified"]).timestamp()


def write(service, writers):
    for writer in writers:
        left = iter(range(WRITES))
        writer.run(Client(service.path), lambda left=left: next(left, None) is None)


def test_all_goes_on_when_the_clock_steps_back(service, database_url, clock):
    writers = begin(service)
    write(service, writers)
    before = modified(service, f"/resource_providers/{SHARED}")
    assert wrong_candidates(service, database_url) == []

    clock.write_text(str(-HOUR))
    write(service, writers)

    assert wrong_candidates(service, database_url) == []
    for writer in writers:
        writer.settle(part_of(database_url, writer))
    assert [writer.wrong for writer in writers] == [[]] * WRITERS
    steps = 1 + sum(writer.part.shared_steps for writer in writers)
    assert shared_generation(database_url) == steps
    assert broken_rules(database_url) == {}
    assert "changed behind" not in service.log.read_text()
    # the step was noticed where times are told
    assert modified(service, f"/resource_providers/{SHARED}") < before - HOUR / 2
