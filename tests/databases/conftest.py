import pytest

from tests.functional.placement.service import Service


@pytest.fixture
def service(database_url):
    """Return a service with an empty database."""
    return Service(database_url)
