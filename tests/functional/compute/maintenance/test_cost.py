"""A node costs the same however many came before it, and looking costs no more than it must."""

import pytest

from compute import config
from compute.maintenance.migrate.migration import Migrator
from compute.maintenance.migrate.offline_tracker import StandIn
from compute.maintenance.migrate.rehearsal import WriteRefused, rehearsing_client
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.compute_node import ComputeNode
from compute.report import SchedulerReportClient
from tests.functional.compute.maintenance.drivers import NODES, CellNodes
from tests.functional.compute.maintenance.site import FLAVOR, HOST, INVENTORY
from tests.functional.placement.service import statements
from virt.fake.driver import node_uuid
from virt.virtapi import NoopVirtAPI

NODENAMES = [f"node-{number}" for number in range(5)]


@pytest.fixture
def nodes(site):
    """Nodes with three consumers each."""
    site.write(NODES, {"nodes": NODENAMES, "failing": []})
    with site.placement() as outsider:
        for name in NODENAMES:
            root = outsider.provider(name, inventory=INVENTORY, uuid=node_uuid(name))
            for _ in range(3):
                outsider.allocate({root: FLAVOR})
    return [ComputeNode(node_uuid(name), HOST, name) for name in NODENAMES]


def counted(database, work):
    """Return the result of the work and the number of its statements."""
    with statements(database) as seen:
        result = work()
    return result, len(seen)


def migrator(site, adapter, client_class):
    conf = config.load(files=[str(site.file)], environ={})
    driver = CellNodes(NoopVirtAPI(), conf)
    driver.init_host(HOST)
    stand_in = StandIn.of(driver, conf, MemoryCellDatabase())
    return Migrator(lambda: client_class(adapter, conf=conf), stand_in.tracker, lambda: None)


def test_each_node_takes_the_same_number_of_statements(site, nodes):
    placement = site.adapter()
    with placement as adapter:
        adapter.get("/")
        database = placement._service._running.database
        work = migrator(site, adapter, SchedulerReportClient)
        first = {counted(database, lambda n=node: work.migrate(n).result) for node in nodes}
        # the first read of a tree after writes also looks through what was written
        work.migrate(nodes[0])
        again = {counted(database, lambda n=node: work.migrate(n).result) for node in nodes}
    assert [result for result, _ in (*first, *again)] == ["migrated", "no reshape needed"]


@pytest.mark.spread_over_databases
def test_a_rehearsal_needs_a_client_that_refuses_to_write(site, nodes):
    with site.adapter() as adapter:
        report = migrator(site, adapter, SchedulerReportClient).rehearse(nodes[0])
    assert isinstance(report.error, TypeError)


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_a_rehearsal_s_client_refuses_to_write(sqlite_site, method):
    with sqlite_site.adapter() as adapter:
        client = rehearsing_client(adapter, conf=config.load(files=[], environ={}))
        with pytest.raises(WriteRefused):
            getattr(client, method)("/traits/CUSTOM_A", None)
