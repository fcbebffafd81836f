"""The services that a test started audit nothing behind it, and not without their database."""

import pytest

from tests import running_services
from tests.databases.fixtures import makers
from tests.functional.placement.service import Service

SEARCH = "/allocation_candidates?resources=VCPU:1"


@pytest.fixture
def lent(_copies, database_kind, tmp_path):
    """Return a function that lends databases for a block."""
    return makers(database_kind, _copies, tmp_path).lent


def test_a_service_audits_nothing_once_its_database_is_removed(lent):
    with lent() as new:
        service = searched(Service(new()))
        with lent() as new_again:
            other = searched(Service(new_again()))
        assert not other.audit_in_background()
        assert service.audit_in_background()
    assert not service.audit_in_background()


def test_audits_end_with_the_test_that_started_the_service(lent):
    with lent() as new:
        earlier = searched(Service(new()))
        with running_services.audits_end_with_it():
            later = searched(Service(new()))
        assert not later.audit_in_background()
        assert earlier.audit_in_background()


def searched(service):
    """Return the snapshot of a service that has searched."""
    assert service.get(SEARCH).status_code == 200
    return service.running.snapshot
