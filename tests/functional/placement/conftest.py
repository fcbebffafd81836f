import itertools
import logging

import pytest

from tests.functional.placement import cloud
from tests.functional.placement.service import Service


@pytest.fixture
def new_service(tmp_path):
    """Makes services, each with an empty database."""
    numbers = itertools.count()

    def new(**options):
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return Service(folder, **options)

    return new


@pytest.fixture
def service(new_service):
    """A service with an empty database."""
    return new_service()


@pytest.fixture
def filled(service):
    """A service with the cloud of `cloud.fill`."""
    cloud.fill(service)
    return service


@pytest.fixture
def own_logging():
    """Commands set logging up for their process, which here goes on."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
