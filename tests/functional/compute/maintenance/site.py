"""A compute host and a placement database, no service running, and `nova-manage` on the host."""

import contextlib
import json
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from compute import config
from compute.cli.nova_manage import main
from compute.records.cell_database.sqlite import FILE_NAME
from compute.records.instance import Instance
from placement.direct import PlacementDirect
from tests.databases.fresh import SQLiteFiles
from tests.functional.compute import cells
from tests.functional.compute.compute_host import ComputeHost
from tests.functional.compute.outsider import Outsider
from tests.service_settings import UNTIMED

HOST = "host1"
DRIVERS = "tests.functional.compute.maintenance.drivers"
FLAVOR = {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20}
INVENTORY = {
    "VCPU": {"total": 10, "allocation_ratio": 4.0},
    "MEMORY_MB": {"total": 8192, "reserved": 512},
    "DISK_GB": {"total": 1028},
}


#: driver class and files of a site → uuid of its node, its database, and its files after a start
_STARTED = {}


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Site:
    """The host's files are in `folder`; `capture` gives what was printed.

    :param is_empty: the database has no schema: whoever starts a service first makes it
    """

    def __init__(self, folder, url, capture, host=HOST, is_empty=False):
        self.folder = folder
        self.url = url
        self.host = host
        self.state = folder / "state"
        self.state.mkdir()
        self.file = folder / "berth-compute.conf"
        self._capture = capture
        self._is_empty = is_empty
        # URL of a database → a client of the service that the site keeps there
        self._clients = {}
        self._services = contextlib.ExitStack()
        self.configure()

    def close(self):
        """End the services that it keeps; if need be, others start."""
        self._services.close()
        self._clients.clear()

    def configure(self, driver="fake.MediumFakeDriver", more=""):
        """Write the configuration file."""
        self.file.write_text(
            f"[DEFAULT]\nhost = {self.host}\nstate_path = {self.state}\ncompute_driver = {driver}\n"
            f"[placement_database]\nconnection = {self.url}\n{more}"
        )

    def run(self, *arguments):
        """Run a command of the category `placement`."""
        self._capture()
        code = main([f"--config-file={self.file}", "placement", *arguments])
        return Ended(code, *self._capture())

    def neighbour(self, host):
        """Another host with files of its own, and the same placement database."""
        folder = self.folder / host
        folder.mkdir()
        return self._services.enter_context(
            contextlib.closing(Site(folder, self.url, self._capture, host))
        )

    @contextlib.contextmanager
    def placement(self):
        """Somebody else who uses the same database, always through the same service."""
        yield Outsider(self._client())

    def _client(self):
        if self.url not in self._clients:
            self._clients[self.url] = self._services.enter_context(self.adapter())
        return self._clients[self.url]

    def adapter(self):
        """Return another placement service on the database, to be opened."""
        is_empty, self._is_empty = self._is_empty, False
        return PlacementDirect.configured(
            files=[],
            environ=False,
            overrides={
                **UNTIMED,
                ("placement_database", "connection"): self.url,
                ("placement_database", "sync_on_startup"): is_empty,
                ("placement_database", "sqlite_synchronous"): False,
            },
        )

    @contextlib.contextmanager
    def cell(self):
        """Open the records of the host."""
        with contextlib.closing(cells.opened(self.state)) as cell:
            yield cell

    def guest(self, **fields):
        """Record an instance, on this host if nothing else is said; its uuid."""
        known = {"project_id": "project", "user_id": "user", "host": self.host, "node": self.host}
        instance = Instance(**(known | fields))
        with self.cell() as cell:
            cell.instances.create(instance)
        return instance.uuid

    def remember_a_guest(self):
        """Record a deleted instance: records without any instance prove nothing."""
        self.guest(deleted=True)

    def start_service_once(self, driver_class):
        """Run the host's service for its first update; return the node's uuid."""
        conf = config.load(files=[str(self.file)], environ={})
        host = ComputeHost(conf, self._client)
        try:
            host.start(driver_class)
            return host.uuid
        finally:
            host.cell.close()

    def started(self, driver_class):
        """Give a site that has nothing yet what the host's first update leaves; return the uuid.

        An update of a host with the same driver and files is made once; others get copies. A
        host that has records, or whose database is in use, really starts.
        """
        database = Path(self.url.removeprefix("sqlite:///"))
        has_records = (self.state / FILE_NAME).exists()
        if has_records or not SQLiteFiles.is_as_filled(database):
            return self.start_service_once(driver_class)
        said = self.file.read_text().replace(self.url, "").replace(str(self.folder), "")
        known = driver_class, said, frozenset(self._files().items())
        if known not in _STARTED:
            uuid = self.start_service_once(driver_class)
            self.close()
            _STARTED[known] = uuid, database.read_bytes(), self._files()
            return uuid
        uuid, content, files = _STARTED[known]
        database.write_bytes(content)
        for name, each in files.items():
            (self.state / name).parent.mkdir(parents=True, exist_ok=True)
            (self.state / name).write_bytes(each)
        return uuid

    def _files(self):
        """Return the content of the files in the state path, by name."""
        paths = (path for path in self.state.rglob("*") if path.is_file())
        return {str(path.relative_to(self.state)): path.read_bytes() for path in paths}

    def write(self, name, content):
        """Return the path of a file in the state path."""
        (self.state / name).write_text(json.dumps(content))

    def rows(self):
        """Table → its rows, byte by byte; where the database tells, with who wrote them last."""
        engine = sa.create_engine(self.url.replace("mysql:", "mysql+pymysql:"))
        written_by = "xmin, " if engine.name == "postgresql" else ""
        try:
            with engine.connect() as connection:
                tables = sa.inspect(connection).get_table_names()
                return {
                    table: sorted(
                        map(repr, connection.execute(sa.text(f"SELECT {written_by}* FROM {table}")))
                    )
                    for table in tables
                }
        finally:
            engine.dispose()

    def everything(self):
        """All that placement knows, as far as clients can see."""
        with self.placement() as outsider:
            rows = outsider.call("GET", "/resource_providers")["resource_providers"]
            consumers = set()
            found = {}
            for row in rows:
                uuid = row["uuid"]
                held = outsider.call("GET", f"/resource_providers/{uuid}/allocations")
                consumers.update(held["allocations"])
                found[uuid] = (
                    row["name"],
                    row["generation"],
                    row["parent_provider_uuid"],
                    outsider.inventory(uuid),
                    outsider.traits(uuid),
                    outsider.aggregates(uuid),
                )
            allocations = {
                consumer: outsider.call("GET", f"/allocations/{consumer}") for consumer in consumers
            }
            return found, allocations
