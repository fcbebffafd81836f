"""What of this folder is collected, and the cluster its tests share.

A cluster of three servers takes its time: it is asked for by setting BERTH_GALERA, as the tox
environment `galera` does. Then Debian's packages mariadb-server, galera-4 and rsync must be there.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from placement.storage import schema_upgrade
from placement.storage.engine import Database, DatabaseSettings
from tests.databases.servers import ServerFailed
from tests.functional.placement.processes import Processes
from tests.galera.cluster import Cluster

collect_ignore_glob = [] if os.environ.get("BERTH_GALERA") else ["test_*.py"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Three nodes that work."""
    # short, because sockets' paths must be
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
    """One and the same empty database, by way of each node."""
    with cluster.database() as name:
        yield [node.url(name) for node in cluster.nodes]


@pytest.fixture(params=[1, 4], ids="{} appliers".format)
def urls(
    request: pytest.FixtureRequest, cluster: Cluster, empty_urls: list[str]
) -> Iterator[list[str]]:
    """One and the same database with our schema, by way of each node.

    Nodes apply what others commit in as many threads as it says; not so the schema, which MariaDB
    may not survive (databases.rst).
    """
    with contextlib.closing(Database(DatabaseSettings(empty_urls[0]))) as database:
        schema_upgrade.sync(database)
    with cluster.appliers(request.param):
        yield empty_urls


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """A process for each node, which has a service of its own."""
    started = Processes()
    yield started
    started.close()
