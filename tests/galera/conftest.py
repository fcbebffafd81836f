"""Selects the tests of this folder, and starts the cluster that they share.

A cluster of three servers starts slowly. So these tests run only if BERTH_GALERA is set; the tox
environment `galera` sets it. They need Debian's packages mariadb-server, galera-4 and rsync.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import schema_upgrade
from tests.databases.servers import ServerFailed
from tests.galera.cluster import Cluster

collect_ignore_glob = [] if os.environ.get("BERTH_GALERA") else ["test_*.py"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Yield a cluster of three synced nodes."""
    # short, because the length of a socket's path is limited
    with tempfile.TemporaryDirectory(prefix="berth-galera-") as folder:
        cluster = Cluster(Path(folder))
        try:
            cluster.start()
            yield cluster
        except ServerFailed as failed:
            pytest.fail(str(failed), pytrace=False)
        finally:
            cluster.close()


@pytest.fixture
def empty_urls(cluster: Cluster) -> Iterator[list[str]]:
    """Return URLs of one empty database, one for each node."""
    with cluster.database() as name:
        yield [node.url(name) for node in cluster.nodes]


@pytest.fixture(params=[1, 4], ids="{} appliers".format)
def urls(
    request: pytest.FixtureRequest, cluster: Cluster, empty_urls: list[str]
) -> Iterator[list[str]]:
    """Yield URLs of one database with our schema, one for each node.

    Nodes apply commits of others with as many threads as the test's parameter says, but the schema
    with one: MariaDB may not survive more (databases.rst).
    """
    with contextlib.closing(Database(DatabaseSettings(empty_urls[0]))) as database:
        schema_upgrade.sync(database)
    with cluster.appliers(request.param):
        yield empty_urls
