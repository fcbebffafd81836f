"""The databases of a storm, each server on a host of its own network, and what befalls them."""

import contextlib
import dataclasses
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.storms.network import NETS, Network
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import readiness
from tests.databases.fixtures import MEMORY
from tests.databases.mortal import DurablePostgreSQL, Mortal
from tests.galera.cluster import SIZE, Cluster, Node

NAME, LOG = "berth", "server.log"
#: what servers for short tests lack
DEPLOYED = ("--autovacuum=on", "--shared_buffers=256MB")
#: threads with which a node applies the commits of the others
APPLIERS = 4


@dataclasses.dataclass(frozen=True)
class Trouble:
    """What happens to a server, and how it ends.

    :param title: what happens, as a sentence
    :param hit: the number of the server; services of other servers go on as if nothing was
    """

    title: str
    hit: int
    begin: Callable[[], None]
    end: Callable[[], None]


class HostedPostgreSQL(DurablePostgreSQL):
    """PostgreSQL on host 0 of a network."""

    def __init__(self, folder: Path, network: Network) -> None:
        super().__init__(folder)
        self._network = network
        host = network.address(0, "clients")
        self.options = [f"--listen_addresses={host}", f"--hba_file={self._rules}", *DEPLOYED]

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server; it answers some time later."""
        lines = ["local all all trust", f"host all all {NETS['clients']}.0/24 trust"]
        self._rules.write_text("".join(f"{line}\n" for line in lines))
        with self._network.on(0):
            return super().start()

    @property
    def _rules(self) -> Path:
        return self.folder / "pg_hba.conf"


class HostedNode(Node):
    """A node of a cluster on the host of its number."""

    def __init__(self, folder: Path, number: int, network: Network) -> None:
        super().__init__(folder, number, network.address(number, "cluster"))
        self._network = network
        self.options = ["--bind-address=0.0.0.0"]

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server; it answers some time later."""
        with self._network.on(self.number):
            return super().start()

    def url(self, name: str) -> str:
        """Return the URL of the database for clients on the network."""
        host = self._network.address(self.number, "clients")
        return f"mysql://berth@{host}:{self._clients}/{name}?charset=utf8mb4"


class HostedCluster(Cluster):
    """A cluster with a host for each node."""

    def __init__(self, folder: Path, network: Network) -> None:
        self._network = network
        super().__init__(folder)

    def _make_nodes(self, folder: Path) -> Sequence[Node]:
        return [HostedNode(folder / str(n), n, self._network) for n in range(SIZE)]


@dataclasses.dataclass(frozen=True)
class Site:
    """A running database.

    :param urls: one for each server, each the whole database
    :param pids: of the servers that run now
    :param logs: of the servers
    :param troubles: what may happen, in order
    """

    urls: Sequence[str]
    pids: Callable[[], list[int]]
    logs: Sequence[Path]
    troubles: Sequence[Trouble]


@contextlib.contextmanager
def postgresql(network: Network, folder: Path) -> Iterator[Site]:
    """Yield one primary, with our schema. It is killed, and its cable is pulled."""
    server = HostedPostgreSQL(folder / "p", network)
    server.folder.mkdir()
    primary = Mortal(server)
    url = f"postgresql://berth@{network.address(0, 'clients')}/{NAME}"
    _make_schema(url)

    def pull() -> None:
        network.pull(0, "clients")

    def plug() -> None:
        network.plug(0, "clients")

    troubles = (
        Trouble("the server is killed", 0, primary.kill, primary.start),
        Trouble("the server's cable is pulled", 0, pull, plug),
    )
    try:
        yield Site([url], lambda: [primary.pid], [server.folder / LOG], troubles)
    finally:
        primary.kill()


@contextlib.contextmanager
def galera(network: Network, folder: Path) -> Iterator[Site]:
    """Yield three nodes, with our schema: one is killed, one loses the others, one everything."""
    cluster = HostedCluster(folder, network)
    try:
        cluster.start()
        first, second, third = cluster.nodes
        first.ask(f"CREATE DATABASE {NAME}")
        first.ask("CREATE USER 'berth'@'%%'")
        first.ask("GRANT ALL ON *.* TO 'berth'@'%%'")
        urls = [node.url(NAME) for node in cluster.nodes]
        _make_schema(urls[0])
        for node in cluster.nodes:
            # only now: MariaDB may not survive it before (databases.rst)
            node.apply_with(APPLIERS)
        yield Site(
            urls,
            lambda: [node.pid for node in cluster.nodes if node.pid is not None],
            [node.folder / LOG for node in cluster.nodes],
            (
                Trouble("a node is killed", 2, third.kill, lambda: cluster.rejoin(third)),
                _cut(network, third, "a node is parted from the others", "cluster"),
                _cut(network, second, "all cables of a node are pulled", *NETS),
            ),
        )
    finally:
        cluster.close()


def _cut(network: Network, node: Node, title: str, *nets: str) -> Trouble:
    def pull() -> None:
        network.pull(node.number, *nets)

    def plug() -> None:
        network.plug(node.number, *nets)
        node.wait()

    return Trouble(title, node.number, pull, plug)


def _make_schema(url: str) -> None:
    with contextlib.closing(Database(DatabaseSettings(url))) as database:
        readiness.make_ready(database, True, True)


KINDS: dict[str, tuple[Callable[[Network, Path], contextlib.AbstractContextManager[Site]], int]] = {
    "postgresql": (postgresql, 1),
    "galera": (galera, SIZE),
}


@contextlib.contextmanager
def site(kind: str, name: str) -> Iterator[Site]:
    """Yield a database of a kind. This process is on its network until the end.

    :param name: of the network
    """
    make, hosts = KINDS[kind]
    place = MEMORY if MEMORY.is_dir() else None
    # short, because the length of a socket's path is limited
    folder = Path(tempfile.mkdtemp(prefix="berth-", dir=place))
    folder.chmod(0o755)
    network = Network(name, hosts)
    try:
        network.make()
        with make(network, folder) as found:
            yield found
    finally:
        network.close()
        shutil.rmtree(folder, ignore_errors=True)
