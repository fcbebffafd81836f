"""A Galera cluster of three servers of this machine, for short runs."""

import contextlib
import itertools
import os
import random
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.databases.servers import MariaDB, ServerFailed
from tests.patience import PATIENCE

#: paths of Galera's library in packages
LIBRARIES = (
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
)
SIZE = 3
#: the range of the nodes' ports: below the range for outgoing connections
PORTS = (10_000, 32_000)


class Node(MariaDB):
    """One server of the cluster, with its own free ports.

    :param host: the IP address at which other nodes reach it
    """

    kind = "galera"
    programs = (*MariaDB.programs, "rsync")

    def __init__(self, folder: Path, number: int, host: str = "127.0.0.1") -> None:
        super().__init__(folder)
        self.number = number
        self._host = host
        self._appliers = 1
        self._group, self._state, self._increments, self._clients = _free_ports(4)
        self._process: subprocess.Popen[bytes] | None = None
        self._members = ""
        self._position: str | None = None

    @property
    def address(self) -> str:
        """The address for other nodes."""
        return f"{self._host}:{self._group}"

    @property
    def pid(self) -> int | None:
        """The id of the server's process; None if it doesn't run."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def join(self, members: str) -> None:
        """Start as a member of the cluster of those addresses; without any, start a new cluster."""
        self._members = members
        self._process = self.start()

    def apply_with(self, threads: int) -> None:
        """Apply other nodes' commits with this number of threads, also after a restart."""
        self._appliers = threads
        self.ask(f"SET GLOBAL wsrep_slave_threads = {threads}")

    def kill(self) -> None:
        """Kill the server."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def recover(self) -> None:
        """Find the position at which it was killed, as Debian's service does."""
        done = self._run([*self._starting(), "--wsrep-recover"])
        found = re.findall(r"Recovered position: *(\S+)", done.stdout)
        if not found:
            raise ServerFailed(f"{self.kind}: no position after a crash:\n{done.stdout}")
        self._position = found[-1]

    def wait(self) -> None:
        """Wait until the node is synced. Raises ServerFailed."""
        end = time.monotonic() + PATIENCE
        while self.status("wsrep_local_state_comment") != "Synced":
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > end:
                raise ServerFailed(f"{self.kind}: node {self.number} doesn't join:\n{self.log()}")
            time.sleep(0.1)

    def status(self, name: str) -> str | None:
        """Return a status variable; None if the server doesn't answer."""
        try:
            return self.ask("SHOW STATUS LIKE %s", name)[0][1]
        except self._driver().Error:
            return None

    def ask(self, question: str, *values: Any) -> list[tuple]:
        """Return the rows of a query that sees all earlier commits of all nodes."""
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(question, values)
            return list(cursor.fetchall())

    def close(self) -> None:
        """Stop the server."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def _starting(self) -> list[str]:
        provider = {
            "base_host": self._host,
            "base_port": self._group,
            "gmcast.listen_addr": f"tcp://{self.address}",
            "ist.recv_addr": f"{self._host}:{self._increments}",
            "gcache.size": "64M",
            "gcache.dir": self.data,
            # other nodes give up a killed node after seconds instead of 15
            "evs.keepalive_period": "PT0.3S",
            "evs.inactive_check_period": "PT0.3S",
            "evs.suspect_timeout": "PT2S",
            "evs.inactive_timeout": "PT4S",
            "pc.recovery": "false",
        }
        settings = {
            "skip-networking": 0,
            "bind-address": self._host,
            "port": self._clients,
            "binlog-format": "ROW",
            "default-storage-engine": "InnoDB",
            "innodb-autoinc-lock-mode": 2,
            "innodb-buffer-pool-size": "64M",
            "wsrep-on": 1,
            "wsrep-slave-threads": self._appliers,
            "wsrep-provider": library(),
            "wsrep-cluster-name": "berth",
            "wsrep-cluster-address": f"gcomm://{self._members}",
            "wsrep-node-name": f"node-{self.number}",
            "wsrep-node-address": self._host,
            "wsrep-sst-method": "rsync",
            "wsrep-sst-receive-address": f"{self._host}:{self._state}",
            "wsrep-provider-options": ";".join(f"{k}={v}" for k, v in provider.items()),
        }
        if self._position:
            settings["wsrep-start-position"] = self._position
        return [*super()._starting(), *(f"--{name}={value}" for name, value in settings.items())]


class Cluster:
    """A cluster of three `nodes`.

    :param folder: an existing folder with a short name
    """

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.nodes = self._make_nodes(folder)
        self._numbers = itertools.count(1)

    def _make_nodes(self, folder: Path) -> Sequence[Node]:
        return [Node(folder / str(number), number) for number in range(SIZE)]

    def start(self) -> None:
        """Create and start all nodes, and wait until they form one cluster. Raises ServerFailed."""
        if missing := Node.missing():
            raise ServerFailed(missing)
        library()
        first, *others = self.nodes
        for node in self.nodes:
            node.folder.mkdir(mode=0o755)
        first.make()
        first.join("")
        first.wait()
        for node in others:
            # its data comes from the first node
            node.make()
            node.join(first.address)
        for node in others:
            node.wait()

    def rejoin(self, node: Node) -> None:
        """Start a node that was killed, and wait until it is synced."""
        node.recover()
        node.join(",".join(other.address for other in self.nodes if other is not node))
        node.wait()

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """Create a database and return its name."""
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        self.nodes[0].ask(f"CREATE DATABASE {name}")
        try:
            yield name
        finally:
            self.nodes[0].ask(f"DROP DATABASE {name}")

    @contextlib.contextmanager
    def appliers(self, threads: int) -> Iterator[None]:
        """Make all nodes apply others' commits with this number of threads, in this block."""
        for node in self.nodes:
            node.apply_with(threads)
        try:
            yield
        finally:
            for node in self.nodes:
                node.apply_with(1)

    def close(self) -> None:
        """Stop all nodes."""
        for node in self.nodes:
            node.close()


def library() -> str:
    """Return the path of Galera's library. Raises ServerFailed."""
    for path in LIBRARIES:
        if Path(path).is_file():
            return path
    raise ServerFailed("Galera isn't installed: apt-get install galera-4 rsync")


def _free_ports(count: int) -> list[int]:
    """Return ports that are free now.

    A server opens some of its ports late. So they lie below those that the system gives to
    outgoing connections, one of which could take the port before the server does.
    """
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        while len(found) < count:
            port = random.randrange(*PORTS)
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(port)
    return found
