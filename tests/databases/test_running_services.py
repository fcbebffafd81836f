"""The services that a test started end with the test, and not after their database."""

import threading

import pytest

from tests import leftovers
from tests.databases.fixtures import makers
from tests.functional.placement.service import Service
from tests.service_settings import AUDITED

SEARCH = "/allocation_candidates?resources=VCPU:1"


@pytest.fixture
def lent(_copies, database_kind, tmp_path):
    """Return a function that lends databases for a block."""
    return makers(database_kind, _copies, tmp_path).lent


def test_a_service_is_closed_before_its_database_is_removed(lent):
    with lent() as new:
        service = searched(Service(new()))
        with lent() as new_again:
            other = searched(Service(new_again()))
        assert not is_open(other)
        assert is_open(service)
    assert not is_open(service)


def test_a_service_is_closed_with_the_test_that_started_it(lent):
    with lent() as new:
        earlier = searched(Service(new()))
        with leftovers.nothing_left("A test"):
            later = searched(Service(new(), **AUDITED))
            assert "snapshot-audit" in names_of_threads()
        assert not is_open(later)
        assert "snapshot-audit" not in names_of_threads()
        assert is_open(earlier)


def test_a_service_of_a_fixture_that_outlives_a_test_is_closed_with_the_fixture(lent):
    with lent() as new:
        fixture = leftovers.Owner("A fixture")
        with leftovers.nothing_left("A test"):
            with fixture.beginning():
                service = searched(Service(new()))
            service.get("/resource_providers")
        assert is_open(service)
        fixture.ended()
        assert not is_open(service)


def test_a_service_has_no_thread_that_no_test_asks_for(lent):
    with lent() as new:
        before = threading.active_count()
        searched(Service(new()))
        assert threading.active_count() == before


def searched(service):
    """Return a service that has searched."""
    assert service.get(SEARCH).status_code == 200
    return service


def is_open(service):
    """Return whether the service has a connection to its database."""
    return service.database.kept.counts() != (0, 0)


def names_of_threads():
    return {thread.name for thread in threading.enumerate()}
