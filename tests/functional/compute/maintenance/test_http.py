"""The commands beside a running service, over HTTP."""

import pytest

from tests.functional.compute.maintenance.drivers import NODES
from tests.functional.compute.maintenance.http_service import described, serving
from tests.functional.compute.maintenance.site import DRIVERS, FLAVOR, INVENTORY
from tests.offenders import assert_each
from virt.fake import MediumFakeDriver
from virt.fake.driver import node_uuid


@pytest.fixture
def node(site):
    """Make a node with an instance and a driver that needs a reshape."""
    site.write(NODES, {"nodes": ["node-a"], "failing": []})
    with site.placement() as outsider:
        root = outsider.provider("node-a", inventory=INVENTORY, uuid=node_uuid("node-a"))
        outsider.allocate({root: FLAVOR})
    return root


@pytest.mark.spread_over_databases
def test_m6_without_the_service_role_it_is_3_with_what_placement_says(site, node):
    with serving(site.url, roles=["admin"]) as url:
        site.configure(f"{DRIVERS}.CellNodes", described(url))
        ended = site.run("migrate_compute_inventory", "--http")
    assert ended.code == 3
    assert "node node-a" in ended.err
    assert "403" in ended.err
    assert "does not authorize" in ended.err or "Forbidden" in ended.err
    with site.placement() as outsider:
        assert outsider.totals(node) == {"VCPU": 10, "MEMORY_MB": 8192, "DISK_GB": 1028}


@pytest.mark.spread_over_databases
def test_with_it_the_node_is_migrated(site, node):
    with serving(site.url, roles=["admin", "service"]) as url:
        site.configure(f"{DRIVERS}.CellNodes", described(url))
        ended = site.run("migrate_compute_inventory", "--http")
    assert (ended.code, ended.err) == (0, "")
    with site.placement() as outsider:
        assert outsider.totals(node) == {"DISK_GB": 1028}


def test_the_other_commands_use_the_service_if_it_is_configured(sqlite_site):
    def check(command, code):
        assert sqlite_site.run(command).code == code

    sqlite_site.started(MediumFakeDriver)
    with serving(sqlite_site.url, roles=["admin", "service"]) as url:
        sqlite_site.url = "sqlite:////nowhere/placement.db"
        sqlite_site.configure(more=described(url))
        codes = {"tree": 0, "consumers": 0, "audit": 0, "heal_allocations": 4, "sync_aggregates": 0}
        assert_each({command: (command, code) for command, code in codes.items()}, check)
