import contextlib
import logging
import socket

import pytest

from tests.functional.placement.service import Service
from tests.functional.placement.topology import small_cloud_at


@pytest.fixture
def new_service(new_database):
    """Return a function that makes services, each with an empty database; close them at the end.

    Its database is a copy of one with a `content`, if that is given (see `Databases.lent`).
    """
    with contextlib.ExitStack() as stack:

        def new(content=None, **options):
            url = new_database(content=content) if content else new_database()
            return stack.enter_context(contextlib.closing(Service(url, **options)))

        yield new


@pytest.fixture
def service(new_service):
    """Return a service with an empty database."""
    return new_service()


@pytest.fixture
def filled(new_service):
    """Return a service with the cloud of `small_cloud.fill`."""
    return new_service(content=small_cloud_at)


@pytest.fixture(scope="module")
def unchanging(module_databases):
    """Return one such service for all tests of a module: rejected requests change nothing."""
    with contextlib.closing(Service(module_databases(content=small_cloud_at))) as made:
        yield made


@pytest.fixture
def own_logging():
    """Restore the levels of loggers, which commands set for their whole process."""
    levels = _levels()
    yield
    changed = []
    for name, level in _levels().items():
        before = levels.get(name, logging.NOTSET)
        if level != before:
            changed.append(logging.getLogger(name))
            changed[-1].level = before
    # one call has all loggers forget what they cached; setting the attribute has not
    for logger in changed[:1]:
        logger.setLevel(logger.level)


def _levels():
    """Return the level of each logger but the root, by name."""
    return {
        name: logger.level
        for name, logger in logging.root.manager.loggerDict.items()
        if isinstance(logger, logging.Logger)
    }


@pytest.fixture
def no_sockets(monkeypatch):
    """Fail if the code creates a socket, looks up a name or connects."""

    def refuse(*args, **kwargs):
        raise AssertionError("a socket was wanted")

    for name in ("socket", "create_connection", "socketpair", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
