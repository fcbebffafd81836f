"""`heal_allocations` that is killed: each instance holds all that it should, or nothing.

`BERTH_TEST_MANAGE_KILLS` says how many are killed on each database.
"""

import random
import signal
import time

import pytest
import sqlalchemy as sa
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from compute.records.instance import Flavor
from tests.functional.compute.maintenance.drivers import MDEVS, VGPUHost
from tests.functional.compute.maintenance.http_service import described, serving
from tests.functional.compute.maintenance.killable import KILLS, Command
from tests.functional.compute.maintenance.site import DRIVERS
from tests.functional.compute.maintenance.test_killed import holdings
from tests.functional.compute.outsider import Outsider

GUESTS = 12
CARDS = ("pci_0000_84_00_0", "pci_0000_85_00_0", "pci_0000_86_00_0")
SIZE = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}

pytestmark = pytest.mark.usefixtures("forking")


@pytest.fixture
def wanted(site):
    """Consumer → what it should hold; three of them have a VGPU each. No one holds anything."""
    site.configure(f"{DRIVERS}.VGPUHost")
    root = site.start_service_once(VGPUHost)
    with site.placement() as outsider:
        rows = outsider.call("GET", f"/resource_providers?in_tree={root}")["resource_providers"]
    uuids = {row["name"]: row["uuid"] for row in rows}
    found, mdevs = {}, {}
    for number in range(GUESTS):
        specs, more = {}, {}
        if number < len(CARDS):
            specs = {"resources:VGPU": "1"}
            more = {uuids[f"{site.host}_{CARDS[number]}"]: {"VGPU": 1}}
        flavor = Flavor(vcpus=1, memory_mb=64, root_gb=1, extra_specs=specs)
        guest = site.guest(flavor=flavor, created_at=float(number))
        if more:
            mdevs[guest] = {CARDS[number]: 1}
        found[guest] = {root: SIZE, **more}
    site.write(MDEVS, mdevs)
    return found


def check(database, wanted):
    """Each instance holds all or nothing; return how many hold all."""
    with database.connect() as connection:
        found = holdings(connection)
    for consumer, held in found.items():
        assert held == wanted[consumer], f"{consumer} holds {held}"
    return len(found)


def forget_some(site, url, wanted, source):
    """Delete the allocations of half of the instances."""
    session = Session(auth=Token(url, "admin"))
    outsider = Outsider(Adapter(session, service_type="placement", raise_exc=False))
    for consumer in source.sample(sorted(wanted), GUESTS // 2):
        if outsider.allocations(consumer):
            outsider.call("DELETE", f"/allocations/{consumer}")


def kill(command, database, wanted, source):
    """Kill a command when it has healed some more, or before that; say whether it was at work."""
    left = source.randrange(GUESTS - check(database, wanted) + 1)
    until = GUESTS - left
    deadline = time.monotonic() + (60 if source.random() < 0.8 else source.uniform(0, 3))
    while not command.ended() and time.monotonic() < deadline and check(database, wanted) < until:
        time.sleep(0.02)
    time.sleep(source.uniform(0, 0.03))
    command.kill()
    return command.end() == -signal.SIGKILL


@pytest.mark.thorough
@pytest.mark.spread_over_databases
def test_a_killed_command_leaves_whole_instances_and_the_next_one_completes(site, wanted):
    source, died = random.Random(), 0
    database = sa.create_engine(site.url.replace("mysql:", "mysql+pymysql:"))
    with serving(site.url, roles=["admin", "service"]) as url:
        site.configure(f"{DRIVERS}.VGPUHost", described(url))
        for _ in range(20 * KILLS):
            if died == KILLS:
                break
            forget_some(site, url, wanted, source)
            command = Command(site, "heal_allocations")
            died += kill(command, database, wanted, source)
            done = check(database, wanted)
            print(f"{died} killed at work, {done} of {GUESTS} are healed", flush=True)
        assert died == KILLS
        assert Command(site, "heal_allocations").end() in (0, 4)
        assert check(database, wanted) == GUESTS
        assert Command(site, "heal_allocations").end() == 4
    database.dispose()
