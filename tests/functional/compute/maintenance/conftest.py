"""A site on each kind of database, and one on SQLite alone."""

import contextlib
import socket

import pytest

from tests import responses_hook
from tests.databases.fresh import SQLiteFiles
from tests.functional.compute.maintenance.drivers import NODES
from tests.functional.compute.maintenance.site import DRIVERS, FLAVOR, INVENTORY, Site
from tests.functional.placement.conftest import own_logging
from virt.fake.driver import node_uuid

__all__ = ["own_logging"]


@pytest.fixture
def site(tmp_path, new_database, capsys, own_logging):
    """Run each test once on each kind of database."""
    with contextlib.closing(Site(tmp_path, new_database(), capsys.readouterr)) as site:
        yield site


@pytest.fixture
def sqlite_site(tmp_path, capsys, own_logging):
    """For what isn't about databases."""
    url = SQLiteFiles.filled(tmp_path / "placement.db")
    with contextlib.closing(Site(tmp_path, url, capsys.readouterr)) as site:
        yield site


@pytest.fixture
def nodes(sqlite_site):
    """Two nodes with a guest each, and a driver that wants to reshape them."""
    sqlite_site.write(NODES, {"nodes": ["node-a", "node-b"], "failing": []})
    sqlite_site.configure(f"{DRIVERS}.CellNodes")
    with sqlite_site.placement() as outsider:
        for name in ("node-a", "node-b"):
            root = outsider.provider(name, inventory=INVENTORY, uuid=node_uuid(name))
            outsider.allocate({root: FLAVOR})
    return sqlite_site


@pytest.fixture
def failures_expected(monkeypatch):
    """Has answers of a status go unjudged; all others are judged as everywhere."""

    def expected(status):
        judge = responses_hook.complaints
        monkeypatch.setattr(
            responses_hook,
            "complaints",
            lambda exchange: [] if exchange.status == status else judge(exchange),
        )

    return expected


@pytest.fixture
def no_network(monkeypatch):
    """Whoever makes a socket for the network, or looks up a name, fails. Databases have files."""

    class LocalSocket(socket.socket):
        def __init__(self, family=-1, *args, **kwargs):
            assert family == socket.AF_UNIX, "a network socket was wanted"
            super().__init__(family, *args, **kwargs)

    def refuse(*args, **kwargs):
        raise AssertionError("a network socket was wanted")

    monkeypatch.setattr(socket, "socket", LocalSocket)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
