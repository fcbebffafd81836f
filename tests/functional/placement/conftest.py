import logging
import socket

import pytest

from tests.functional.placement import cloud
from tests.functional.placement.service import Service


@pytest.fixture
def new_service(new_database):
    """Makes services, each with an empty database."""

    def new(**options):
        return Service(new_database(), **options)

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


@pytest.fixture
def no_sockets(monkeypatch):
    """Whoever makes a socket, looks up a name or connects fails."""

    def refuse(*args, **kwargs):
        raise AssertionError("a socket was wanted")

    for name in ("socket", "create_connection", "socketpair", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
