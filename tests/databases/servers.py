"""Private database servers: no network, data in a separate folder, made for short runs.

They listen on a unix socket in their folder and don't wait for the disk. If the tests run as root,
the servers run as an unprivileged user, because both refuse to run as root.
"""

import importlib
import importlib.util
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

#: folders where Debian has programs that aren't on an ordinary user's path
PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin")


class ServerFailed(Exception):
    """A server could not be created or started; the text has its output."""


class Server:
    """The commands to create and start one kind of server in a folder.

    :param folder: an existing folder for `data/`, `server.log` and the socket
    """

    kind: ClassVar[str]
    programs: ClassVar[tuple[str, ...]]
    #: the server's user if the tests run as root
    user: ClassVar[str]
    #: the Debian package with the programs
    package: ClassVar[str]
    #: the driver's module, and the extra that installs it
    driver: ClassVar[str]
    extra: ClassVar[str]
    #: further options of the server's command, which count more
    options: Sequence[str] = ()

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"

    @classmethod
    def missing(cls) -> str | None:
        """Return what isn't installed, or None."""
        for program in cls.programs:
            if cls._find(program) is None:
                return f"{program} isn't installed: apt-get install {cls.package}"
        if importlib.util.find_spec(cls.driver) is None:
            return f"{cls.driver} isn't installed: pip install 'openstack-berth[{cls.extra}]'"
        return None

    @classmethod
    def _driver(cls) -> Any:
        """Import the driver when it is needed, because the other databases work without it."""
        return importlib.import_module(cls.driver)

    @classmethod
    def _find(cls, program: str) -> str | None:
        places = [os.environ.get("PATH", os.defpath), *cls._folders(), *PLACES]
        return shutil.which(program, path=os.pathsep.join(places))

    @classmethod
    def _folders(cls) -> list[str]:
        return []

    def make(self) -> None:
        """Create the data folder. Raises ServerFailed."""
        self.data.mkdir(mode=0o700)
        if os.getuid() == 0:
            account = self._account()
            for path in (self.folder, self.data):
                os.chown(path, account.pw_uid, account.pw_gid)
        done = self._run(self._making())
        if done.returncode:
            raise ServerFailed(f"{self.kind}: {done.args[0]} failed:\n{done.stdout}")

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server; it answers some time later."""
        with (self.folder / "server.log").open("ab") as log:
            return subprocess.Popen(
                [*self._starting(), *self.options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self._identity(),
            )

    def log(self) -> str:
        """Return the server's log."""
        return (self.folder / "server.log").read_text(errors="replace")

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            cwd=self.folder,
            **self._identity(),
        )

    @classmethod
    def _account(cls) -> pwd.struct_passwd:
        try:
            return pwd.getpwnam(cls.user)
        except KeyError:
            return pwd.getpwnam("nobody")

    @classmethod
    def _identity(cls) -> dict:
        if os.getuid() != 0:
            return {}
        account = cls._account()
        environ = os.environ | {"HOME": "/nonexistent", "USER": account.pw_name}
        return {
            "user": account.pw_uid,
            "group": account.pw_gid,
            "extra_groups": [],
            "env": environ,
        }

    @classmethod
    def _program(cls, name: str) -> str:
        found = cls._find(name)
        if found is None:
            raise ServerFailed(f"{cls.kind}: {cls.missing()}")
        return found

    def _making(self) -> list[str]:
        raise NotImplementedError

    def _starting(self) -> list[str]:
        raise NotImplementedError

    def connect(self, name: str = "") -> Any:
        """Open a connection as administrator, in autocommit mode."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Return whether the server answers."""
        try:
            self.connect().close()
        except self._driver().OperationalError:
            return False
        return True

    def url(self, name: str) -> str:
        """Return the URL of the database `name` for `[placement_database]connection`."""
        raise NotImplementedError


class PostgreSQL(Server):
    kind = "postgresql"
    programs = ("initdb", "postgres")
    user = "postgres"
    package = "postgresql"
    driver = "psycopg"
    extra = "postgresql"

    @classmethod
    def _folders(cls) -> list[str]:
        found = Path("/usr/lib/postgresql").glob("*/bin")
        newest_first = sorted(found, key=lambda path: int(path.parent.name), reverse=True)
        return [str(path) for path in newest_first]

    def _making(self) -> list[str]:
        return [
            self._program("initdb"),
            f"--pgdata={self.data}",
            "--username=berth",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ]

    def _starting(self) -> list[str]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            # for tests with many clients, on several workers
            "max_connections": "500",
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "autovacuum": "off",
            "wal_level": "minimal",
            "max_wal_senders": "0",
            "shared_buffers": "64MB",
            "deadlock_timeout": "100ms",
            # in its folder, which is removed: a killed server leaves what is elsewhere
            "dynamic_shared_memory_type": "mmap",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [self._program("postgres"), "-D", str(self.data), *options]

    def connect(self, name: str = "postgres") -> Any:
        """Open a connection as administrator, in autocommit mode."""
        return self._driver().connect(
            host=str(self.folder), user="berth", dbname=name, autocommit=True, connect_timeout=60
        )

    def url(self, name: str) -> str:
        return f"postgresql://berth@/{name}?host={self.folder}"


#: that of MariaDB's URLs, to test with another driver than PyMySQL: `mysql+mysqldb`
SCHEME = os.environ.get("BERTH_TEST_MYSQL_SCHEME", "mysql")


class MariaDB(Server):
    kind = "mariadb"
    programs: ClassVar[tuple[str, ...]] = ("mariadb-install-db", "mariadbd")
    user = "mysql"
    package = "mariadb-server"
    driver = "pymysql"
    extra = "mysql"

    @property
    def socket(self) -> str:
        return str(self.folder / "mariadb.sock")

    def _making(self) -> list[str]:
        return [
            self._program("mariadb-install-db"),
            "--no-defaults",
            f"--datadir={self.data}",
            f"--tmpdir={self.data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-doublewrite=0",
        ]

    def _starting(self) -> list[str]:
        settings = {
            "datadir": self.data,
            # a separate folder: a starting server removes the temporary files of others there
            "tmpdir": self.data,
            "socket": self.socket,
            "pid-file": self.folder / "mariadb.pid",
            "skip-networking": 1,
            # for tests with many clients, on several workers
            "max-connections": 1000,
            "innodb-flush-log-at-trx-commit": 0,
            "innodb-flush-method": "nosync",
            "innodb-doublewrite": 0,
            "innodb-fast-shutdown": 2,
            "innodb-buffer-pool-size": "128M",
            "innodb-log-file-size": "64M",
            "innodb-file-per-table": 0,
            "performance-schema": 0,
            "skip-log-bin": 1,
            # Debian's defaults
            "character-set-server": "utf8mb4",
            "collation-server": "utf8mb4_general_ci",
            "sync-frm": 0,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [self._program("mariadbd"), "--no-defaults", *options]

    def connect(self, name: str | None = None) -> Any:
        """Open a connection as administrator, in autocommit mode."""
        return self._driver().connect(
            unix_socket=self.socket,
            user="root",
            database=name,
            autocommit=True,
            connect_timeout=60,
            ssl_disabled=True,
        )

    def url(self, name: str) -> str:
        # PyMySQL prefers TLS: it would read all certificates of the system for each connection
        plain = "" if SCHEME == "mysql+mysqldb" else "&ssl_disabled=true"
        socket = f"unix_socket={self.socket}"
        return f"{SCHEME}://root@localhost/{name}?{socket}&charset=utf8mb4{plain}"


SERVERS: dict[str, type[Server]] = {server.kind: server for server in (PostgreSQL, MariaDB)}
