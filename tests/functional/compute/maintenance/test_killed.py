"""A migration that is killed, or whose service is: each consumer holds all of the old or the new.

`BERTH_TEST_MANAGE_KILLS` says how many are killed in each test on each database. From 50 on there
are 50 nodes with 10 consumers each, else a few.
"""

import contextlib
import random
import signal
import time
from collections import Counter
from uuid import uuid4

import pytest
import sqlalchemy as sa

from placement.storage import tables
from tests.functional.compute.maintenance.drivers import NODES
from tests.functional.compute.maintenance.http_service import Killable, described
from tests.functional.compute.maintenance.killable import KILLS, Command
from tests.functional.compute.maintenance.site import DRIVERS, INVENTORY
from virt.fake.driver import node_uuid

MIGRATE = "migrate_compute_inventory"
NODENAMES = [f"node-{number:02}" for number in range(50 if KILLS >= 50 else 4)]
GUESTS = 10
HELD = {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 20}
#: the other form of a node, which the driver is to bring it to
FORMS = ("CellNodes", "FlatNodes")

pytestmark = pytest.mark.usefixtures("forking")


@pytest.fixture
def nodes(site):
    """Node → consumers, all of them on the root, on each kind of database."""
    return populated(site)


def populated(site):
    """Make the nodes and their consumers."""
    site.write(NODES, {"nodes": NODENAMES, "failing": []})
    guests = {}
    with site.placement() as outsider:
        for name in NODENAMES:
            root = outsider.provider(name, inventory=INVENTORY, uuid=node_uuid(name))
            guests[name] = [str(uuid4()) for _ in range(GUESTS)]
            body = {
                "allocations": {root: {"resources": HELD}},
                "project_id": "project",
                "user_id": "user",
                "consumer_generation": None,
                "consumer_type": "INSTANCE",
            }
            outsider.call("POST", "/allocations", dict.fromkeys(guests[name], body))
    return guests


def holdings(connection):
    """Consumer → provider → class → amount, at one moment: it is one statement."""
    rows = connection.execute(
        sa.select(
            tables.allocations.c.consumer_id,
            tables.resource_providers.c.uuid,
            tables.resource_classes.c.name,
            tables.allocations.c.used,
        )
        .join(
            tables.resource_providers,
            tables.resource_providers.c.id == tables.allocations.c.resource_provider_id,
        )
        .join(
            tables.resource_classes,
            tables.resource_classes.c.id == tables.allocations.c.resource_class_id,
        )
    )
    found = {}
    for consumer, provider, name, used in rows:
        found.setdefault(consumer, {}).setdefault(provider, {})[name] = used
    return found


def stocks(connection):
    """Return the providers that have VCPU."""
    return set(
        connection.execute(
            sa.select(tables.resource_providers.c.uuid)
            .join(
                tables.inventories,
                tables.inventories.c.resource_provider_id == tables.resource_providers.c.id,
            )
            .join(
                tables.resource_classes,
                tables.resource_classes.c.id == tables.inventories.c.resource_class_id,
            )
            .where(tables.resource_classes.c.name == "VCPU")
        ).scalars()
    )


def form_of(root, consumer, held):
    """Whether the consumer holds exactly the old (flat) or exactly the new (cells)."""
    total = sum((Counter(part) for part in held.values()), Counter())
    assert total == HELD, f"{consumer} holds {held}"
    if held == {root: HELD}:
        return "FlatNodes"
    assert held[root] == {"DISK_GB": HELD["DISK_GB"]}, f"{consumer} holds {held}"
    return "CellNodes"


def forms_of(connection, guests):
    """Node → the form its consumers have, which must be one: they move together."""
    held, found = holdings(connection), {}
    for name, consumers in guests.items():
        forms = {form_of(node_uuid(name), each, held.get(each, {})) for each in consumers}
        assert len(forms) == 1, f"{name} is half {forms}"
        found[name] = forms.pop()
    return found


def check(database, guests):
    """Each node is whole: inventory and consumers have one form. Gives how many have which."""
    with database.connect() as connection:
        forms, with_processors = forms_of(connection, guests), stocks(connection)
    for name, form in forms.items():
        assert (node_uuid(name) in with_processors) == (form == "FlatNodes"), f"{name} is half"
    return Counter(forms.values())


@pytest.fixture
def watch():
    """Open databases for reading, beside a writer."""
    with contextlib.ExitStack() as stack:

        def opened(site):
            engine = sa.create_engine(site.url.replace("mysql:", "mysql+pymysql:"))
            stack.callback(engine.dispose)
            return engine

        yield opened


def look_around(database, guests, seconds):
    """For a moment, see that at each moment each node is whole while the command runs."""
    end = time.monotonic() + seconds
    with database.connect() as connection:
        while True:
            forms_of(connection, guests)
            connection.rollback()
            if time.monotonic() >= end:
                return


@pytest.mark.spread_over_databases
def test_a_killed_command_leaves_whole_nodes_and_the_next_one_completes(site, nodes, watch):
    source, database = random.Random(), watch(site)
    died, found = 0, check(database, nodes)
    for _ in range(20 * KILLS):
        if died == KILLS:
            break
        # back or forth, so that nodes that are left to do are anywhere; some are left to do
        form = source.choice([form for form in FORMS if found[form] < len(NODENAMES)])
        site.configure(f"{DRIVERS}.{form}")
        command = Command(site, MIGRATE)
        command.wait_for_lines(source.randrange(len(NODENAMES)))
        look_around(database, nodes, source.uniform(0, 0.1))
        command.kill()
        died += command.end() == -signal.SIGKILL
        found = check(database, nodes)
        print(f"{died} killed at work, the last one to {form}: {dict(found)}", flush=True)
    assert died == KILLS
    for form in FORMS:
        site.configure(f"{DRIVERS}.{form}")
        assert Command(site, MIGRATE).end() == 0
        assert check(database, nodes) == {form: len(NODENAMES)}


def kill_workers(service, command, database, guests, source):
    """Kill the service's workers at random moments until the command ends; how many were killed."""
    killed = 0
    while True:
        command.wait_for_lines(source.randrange(1, 2 + len(NODENAMES) // 8))
        look_around(database, guests, source.uniform(0, 0.1))
        if command.ended():
            return killed
        killed += service.kill_a_worker()
        look_around(database, guests, 0)


@pytest.mark.thorough
@pytest.mark.spread_over_databases
def test_a_service_killed_meanwhile_leaves_whole_nodes_and_the_next_run_completes(
    site, nodes, tmp_path, watch
):
    source, database = random.Random(), watch(site)
    service = Killable(site.url, tmp_path)
    try:
        form, killed, failed = FORMS[0], 0, 0
        for _ in range(20 * KILLS):
            if killed >= KILLS and failed:
                break
            site.configure(f"{DRIVERS}.{form}", described(service.url))
            command = Command(site, MIGRATE, "--http")
            killed += kill_workers(service, command, database, nodes, source)
            code = command.end()
            assert code in (0, 1, 3)
            failed += code != 0
            done = check(database, nodes)[form]
            print(f"{killed} kills: {code}; {done} nodes are {form}", flush=True)
            if done == len(NODENAMES):
                form = FORMS[1 - FORMS.index(form)]
        assert killed >= KILLS
        assert failed
        site.configure(f"{DRIVERS}.{form}", described(service.url))
        assert Command(site, MIGRATE, "--http").end() == 0
        assert check(database, nodes) == {form: len(NODENAMES)}
    finally:
        service.stop()
