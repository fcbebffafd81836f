"""Two hosts that share a pool, each with records of its own."""

import contextlib
import copy
import shutil
from uuid import uuid4

import pytest

from compute.records.instance import Flavor
from tests.databases.fresh import SQLiteFiles
from tests.functional.compute.maintenance.site import Site
from virt.fake import MediumFakeDriver

NEIGHBOUR = "host2"
SHARES = "MISC_SHARES_VIA_AGGREGATE"
DISK = {"DISK_GB": 20}
CPU = {"VCPU": 2, "MEMORY_MB": 2048}


class Hosts:
    """Two hosts with a state path each, whose services have run, and a pool that both share."""

    def __init__(self, mine):
        self.mine = mine
        self.other = mine.neighbour(NEIGHBOUR)
        self.root = mine.start_service_once(MediumFakeDriver)
        self.other_root = self.other.start_service_once(MediumFakeDriver)
        with mine.placement() as outsider:
            aggregate = str(uuid4())
            self.pool = outsider.provider(
                "pool", None, {"DISK_GB": {"total": 500}}, [SHARES], [aggregate]
            )
            for root in (self.root, self.other_root):
                outsider.set_aggregates(root, [aggregate])

    def guest(self, site, **fields):
        """Record an instance on one host."""
        return site.guest(**({"vm_state": "active", "flavor": Flavor(2, 2048)} | fields))

    def allocate(self, held, consumer=None, **more):
        with self.mine.placement() as outsider:
            return outsider.allocate(held, consumer, **more)

    def held(self, consumer):
        with self.mine.placement() as outsider:
            return outsider.allocations(consumer)

    def change(self, consumer, **fields):
        """Change the record of an instance of this host."""
        with self.mine.cell() as cell:
            instance = cell.instances.by_uuid(consumer)
            for name, value in fields.items():
                setattr(instance, name, value)
            cell.instances.save(instance)


def two_hosts(site):
    hosts = Hosts(site)
    guest = hosts.guest(site)
    hosts.allocate({hosts.root: CPU, hosts.pool: DISK}, guest)
    return hosts


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two hosts of whose files each test gets a copy."""
    folder = tmp_path_factory.mktemp("hosts")
    url = SQLiteFiles.filled(folder / "placement.db")
    with contextlib.closing(Site(folder, url, lambda: None)) as site:
        return two_hosts(site)


@pytest.fixture
def hosts(sqlite_site, made):
    """With a guest of ours on the pool; on SQLite, for it is about records."""
    hosts = copy.copy(made)
    hosts.mine, hosts.other = sqlite_site, sqlite_site.neighbour(NEIGHBOUR)
    shutil.copytree(
        made.mine.folder,
        sqlite_site.folder,
        ignore=shutil.ignore_patterns("*.conf"),
        dirs_exist_ok=True,
    )
    return hosts


@pytest.fixture
def neighbours(hosts):
    """Make a running instance of the other host that holds its disk on the pool."""
    consumer = hosts.guest(hosts.other)
    hosts.allocate({hosts.other_root: CPU, hosts.pool: DISK}, consumer)
    return consumer
