"""A service with a small cloud that is put back after every request that changed it."""

import contextlib
import dataclasses
import io
import sqlite3

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind
from placement.storage.tables import REFERENCE_TABLES
from tests import leftovers
from tests.functional.placement import small_cloud
from tests.functional.placement.service import Service

#: everything of a provider
ALL_OF_IT = (
    ChangeKind.ROW
    | ChangeKind.INVENTORY
    | ChangeKind.USAGE
    | ChangeKind.TRAITS
    | ChangeKind.AGGREGATES
)


@dataclasses.dataclass(frozen=True)
class Request:
    """What a web server hands over, byte for byte.

    :param path: decoded, each byte a latin-1 character (PEP 3333)
    :param query: not decoded
    :param headers: names in any spelling
    """

    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    body: bytes = b""

    def environ(self):
        environ = {
            "REQUEST_METHOD": self.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": self.path,
            "QUERY_STRING": self.query,
            "SERVER_NAME": "placement.test",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(self.body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        if self.body:
            environ["CONTENT_LENGTH"] = str(len(self.body))
        for name, value in self.headers.items():
            name = name.upper().replace("-", "_")
            plain = name in ("CONTENT_TYPE", "CONTENT_LENGTH")
            environ[name if plain else f"HTTP_{name}"] = value
        return environ


class FuzzedService:
    """Sends requests and sees to it that refused ones change no row."""

    def __init__(self, folder, **options):
        path = folder / "placement.db"
        url = f"sqlite:///{path}"
        self._database = Database(DatabaseSettings(url, sqlite_synchronous=False))
        leftovers.owner().at_end(self._database.close)
        service = Service(url, **options)
        small_cloud.fill(service)
        self.app = service.app
        self._watcher = sqlite3.connect(path, isolation_level=None)
        leftovers.owner().at_end(self._watcher.close)
        self._watcher.execute("PRAGMA synchronous = OFF")
        seed = folder / "seed.db"
        with contextlib.closing(sqlite3.connect(seed)) as copy:
            self._watcher.backup(copy)
        self._watcher.execute("ATTACH ? AS seed", (str(seed),))
        self._rows = self.rows()
        self._version = self._data_version()

    def send(self, request):
        """Return the status of the answer; the hook of all tests judges its form."""
        return int(self.answer(request)[0].split()[0])

    def answer(self, request):
        """Status line, headers and body of the answer."""
        started = []
        try:
            body = b"".join(self.app(request.environ(), lambda *given: started.extend(given)))
        except Exception:
            self._put_back()
            raise
        status, headers = started[:2]
        if self._data_version() != self._version:
            self._check_change(request, int(status.split()[0]))
        return status, dict(headers), body

    def _data_version(self):
        """Another number whenever another connection has written."""
        return self._watcher.execute("PRAGMA data_version").fetchone()

    def _check_change(self, request, status):
        may_change = status < 400 and request.method not in ("GET", "HEAD", "OPTIONS")
        before, after = self._rows, self.rows()
        self._put_back()
        if not may_change:
            changed = [name for name in before if before[name] != after[name]]
            assert changed == [], f"{status}, but changed {changed}"

    def rows(self):
        """Every row of every table."""
        names = self._watcher.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")
        return {
            name: self._watcher.execute(f'SELECT * FROM main."{name}"').fetchall()
            for (name,) in names.fetchall()
        }

    def _put_back(self):
        """Make all tables as they were, telling the change feed as every writer does."""
        watcher = self._watcher
        providers = "SELECT id FROM {}.resource_providers"
        gone = watcher.execute(providers.format("main")).fetchall()
        watcher.execute("BEGIN IMMEDIATE")
        for table in REFERENCE_TABLES:
            watcher.execute(f"DELETE FROM main.{table.name}")
            watcher.execute(f"INSERT INTO main.{table.name} SELECT * FROM seed.{table.name}")
        kinds = dict.fromkeys((one for (one,) in gone), ChangeKind.DELETED)
        kinds |= {one: ALL_OF_IT for (one,) in watcher.execute(providers.format("seed"))}
        kinds[NO_PROVIDER] = ChangeKind.NAMES
        watcher.execute("COMMIT")
        self._database.write(lambda connection: change_feed.record_each(connection, kinds))
        self._rows = self.rows()
        self._version = self._data_version()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._watcher.close()
