"""A service, its database, and the snapshot of a process beside it."""

import pytest

from placement.candidates.live.live_snapshot import LiveSnapshot
from tests.clock import Clock
from tests.databases.connections import connections
from tests.functional.placement.candidates.snapshot.comparing import HOST, nobody
from tests.functional.placement.service import Service
from tests.functional.placement.topology import Cloud


@pytest.fixture
def url(database_url):
    return database_url


@pytest.fixture
def service(url):
    return Service(url)


@pytest.fixture
def cloud(service):
    return Cloud(service).build([HOST])


@pytest.fixture
def new_connections(service, url):
    """Return a function that makes separate database objects, like those of other processes."""
    with connections(url) as opened:
        yield opened


@pytest.fixture
def database(new_connections):
    return new_connections()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def live(database, clock):
    return LiveSnapshot(database, clock=clock)


@pytest.fixture
def audited(database, clock):
    return LiveSnapshot(database, audit_interval=60, clock=clock, watch=nobody)
