"""Commands that placement or its database doesn't let in, or that somebody gets in the way of.

For each command its exit code, one line, and nothing written.
"""

import contextlib
import os
from pathlib import Path

import pytest

from compute.records.aggregate import Aggregate, HostMapping
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor, Instance
from compute.report import SchedulerReportClient
from compute.report.trees.properties import Properties
from tests.databases.fixtures import CHOSEN
from tests.functional.compute.maintenance.drivers import NODES
from tests.functional.compute.maintenance.http_service import described, serving
from tests.functional.compute.maintenance.site import DRIVERS, HOST, INVENTORY
from tests.offenders import assert_each
from virt.fake.driver import node_uuid

pytestmark = pytest.mark.spread_over_databases

#: command → exit code when placement can't be used
CODES = {
    ("migrate_compute_inventory",): 1,
    ("migrate_compute_inventory", "--dry-run"): 1,
    ("heal_allocations",): 3,
    ("heal_allocations", "--dry-run"): 3,
    ("audit",): 1,
    ("audit", "--delete"): 1,
    ("sync_aggregates",): 3,
    ("tree",): 1,
    ("consumers",): 1,
}
#: command → exit code when it can do its work without writing
LOOKING = {
    ("migrate_compute_inventory", "--dry-run"): 4,
    ("heal_allocations", "--dry-run"): 4,
    ("audit",): 3,
    ("tree",): 0,
    ("consumers",): 0,
}
AGGREGATE = "5d1f2f9e-0d41-4b7c-9d5c-0d9f5b6a7c10"
EACH = {" ".join(command): (command, code) for command, code in CODES.items()}


@pytest.fixture
def host(site):
    """Make a host with work for each command."""
    site.configure(f"{DRIVERS}.CellNodes")
    site.write(NODES, {"nodes": [HOST], "failing": []})
    with site.cell() as cell:
        cell.compute_nodes.create(ComputeNode(node_uuid(HOST), HOST, HOST))
        cell.host_mappings.create(HostMapping(HOST, AGGREGATE))
        cell.aggregates.create(Aggregate(AGGREGATE, "rack", hosts=[HOST]))
        known = {"project_id": "p", "user_id": "u", "flavor": Flavor(vcpus=1)}
        cell.instances.create(Instance(host=HOST, node=HOST, **known))
    return site


@pytest.fixture
def known_host(host):
    """Make the same host, known to placement, with an orphan."""
    with host.placement() as outsider:
        outsider.provider(HOST, inventory=INVENTORY, uuid=node_uuid(HOST))
        outsider.allocate({node_uuid(HOST): {"VCPU": 1}})
    return host


@pytest.mark.parametrize(("command", "code"), CODES.items())
def test_a_database_without_a_schema(host, new_database, database_kind, command, code):
    host.url = new_database(empty=True)
    if database_kind == "sqlite":
        Path(host.url.removeprefix("sqlite:///")).touch()
    host.configure(f"{DRIVERS}.CellNodes")
    ended = host.run(*command)
    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
    assert "placement-manage db sync" in ended.err
    assert host.rows() == {}


@pytest.mark.skipif("postgresql" not in CHOSEN, reason="not chosen")
@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
class TestARoleOfTheDatabase:
    @pytest.fixture
    def visitor(self, known_host, database_servers):
        """Make a role without rights, and give a function that grants one right on each table."""
        role = f"visitor_{os.getpid()}"
        path, _, rest = known_host.url.partition("//")
        name = rest.partition("/")[2].partition("?")[0]
        with contextlib.closing(database_servers("postgresql").connect(name)) as administrator:

            def grant(right):
                administrator.execute(f"GRANT {right} ON ALL TABLES IN SCHEMA public TO {role}")

            administrator.execute(f"CREATE ROLE {role} LOGIN")
            known_host.everybody = known_host.url
            known_host.url = f"{path}//{role}@{rest.partition('@')[2]}"
            known_host.configure(f"{DRIVERS}.CellNodes")
            yield grant
            administrator.execute(f"DROP OWNED BY {role}")
            administrator.execute(f"DROP ROLE {role}")

    def rows(self, host):
        mine, host.url = host.url, host.everybody
        try:
            return host.rows()
        finally:
            host.url = mine

    def test_without_rights(self, known_host, visitor):
        before = self.rows(known_host)

        def check(command, code):
            ended = known_host.run(*command)
            assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
            assert "permission denied for table" in ended.err
            assert self.rows(known_host) == before

        assert_each(EACH, check)

    def test_that_may_only_read(self, known_host, visitor, failures_expected):
        visitor("SELECT")
        failures_expected(500)
        before = self.rows(known_host)

        def check(command, code):
            ended = known_host.run(*command)
            # the refused write has the reshape in it
            is_reshape = command == ("migrate_compute_inventory",)
            assert ended.code == (3 if is_reshape else LOOKING.get(command, code))
            assert ended.err.count("\n") == int(command not in LOOKING)
            assert self.rows(known_host) == before

        assert_each(EACH, check)


def test_a_service_that_lets_nobody_in(known_host):
    with serving(known_host.url, roles=["guest"]) as url:
        known_host.configure(f"{DRIVERS}.CellNodes", described(url))
        before = known_host.rows()

        def check(command, code):
            ended = known_host.run(*command, "--http")
            assert (ended.code, ended.err.count("\n")) == (code, 1)
            assert "403" in ended.err
            assert known_host.rows() == before

        assert_each(EACH, check)


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["run", "dry run"])
def test_who_may_not_reshape_is_told_so_before_anything_is_written(known_host, more):
    with serving(known_host.url, roles=["admin"]) as url:
        known_host.configure(f"{DRIVERS}.CellNodes", described(url))
        before = known_host.rows()
        ended = known_host.run("migrate_compute_inventory", "--http", *more)
        assert (ended.code, ended.err.count("\n")) == (3, 1)
        assert "needs the role service" in ended.err
        assert known_host.rows() == before


class TestAConflictingWriter:
    """Somebody else writes just before the command does, each time."""

    @pytest.fixture
    def disturbed(self, known_host, monkeypatch):
        def disturbed(part, method, disturb):
            function = getattr(part, method)

            def late(*args, **kwargs):
                with known_host.placement() as outsider:
                    disturb(outsider)
                return function(*args, **kwargs)

            monkeypatch.setattr(part, method, late)

        return disturbed

    def test_of_an_instance_s_allocations_is_3(self, known_host, disturbed):
        with known_host.cell() as cell:
            (instance,) = cell.instances.all()
        held = {node_uuid(HOST): {"VCPU": 3}}
        disturbed(
            SchedulerReportClient,
            "put_allocations",
            lambda outsider: outsider.allocate(held, instance.uuid),
        )
        ended = known_host.run("heal_allocations")
        assert (ended.code, ended.out) == (3, "Processed 0 instances.\n")
        assert (ended.err.count("\n"), "consumer generation conflict" in ended.err) == (1, True)
        with known_host.placement() as outsider:
            assert outsider.allocations(instance.uuid) == held

    def test_of_a_provider_s_aggregates_is_3(self, known_host, disturbed):
        others = "0d3fa1a8-6a57-4c0f-8f4f-6d7d4a3a5b11"
        disturbed(
            Properties,
            "set_aggregates",
            lambda outsider: outsider.set_aggregates(node_uuid(HOST), [others]),
        )
        ended = known_host.run("sync_aggregates")
        assert (ended.code, ended.out, ended.err.count("\n")) == (3, "", 1)
        with known_host.placement() as outsider:
            assert outsider.aggregates(node_uuid(HOST)) == {others}
