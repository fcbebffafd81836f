"""The database goes away in the middle of a command: one message, nothing half done, resumable."""

import contextlib

import pytest

from compute.cli.commands import audit as audit_command
from compute.maintenance.audit import deletion
from compute.maintenance.heal.heal import Healer
from compute.report.wire.extensions import Extensions
from tests.databases.fixtures import CHOSEN
from tests.databases.mortal import mortal
from tests.functional.compute.maintenance.drivers import NODES, CellNodes
from tests.functional.compute.maintenance.http_service import described, serving
from tests.functional.compute.maintenance.site import DRIVERS, FLAVOR, INVENTORY, Site
from tests.functional.compute.maintenance.unhealed_guests import PORT, serving_site, unhealed
from tests.functional.compute.outsider import Outsider
from virt.fake import MediumFakeDriver
from virt.fake.driver import node_uuid

NODENAMES = ["node-a", "node-b", "node-c", "node-d"]


@pytest.fixture(autouse=True)
def unavailable_is_expected(failures_expected):
    failures_expected(503)


def on(kind):
    """Run a test with a server of a kind; with --thorough, with a server of each kind."""
    kinds = [
        pytest.param(each, marks=() if each == kind else pytest.mark.thorough)
        for each in CHOSEN
        if each != "sqlite"
    ]
    return pytest.mark.parametrize("server", kinds, indirect=True)


@pytest.fixture
def server(request):
    with mortal(request.param) as server:
        yield server


class SiteOfMortals(Site):
    """Who looks at the database meets a service that has seen no server die."""

    @contextlib.contextmanager
    def placement(self):
        with self.adapter() as adapter:
            yield Outsider(adapter)


@pytest.fixture
def site(server, tmp_path, capsys, own_logging):
    site = SiteOfMortals(tmp_path, server.url, capsys.readouterr, is_empty=True)
    with contextlib.closing(site):
        yield site


@pytest.fixture
def dying(server, monkeypatch):
    """Has the server killed when a function is about to be called, or has been, the nth time."""

    def dying(owner, name, number, after=False):
        function, calls = getattr(owner, name), []

        def wrapped(*args, **kwargs):
            calls.append(name)
            if len(calls) == number and not after:
                server.kill()
            result = function(*args, **kwargs)
            if len(calls) == number and after:
                server.kill()
            return result

        monkeypatch.setattr(owner, name, wrapped)

    return dying


class TestMigrating:
    @pytest.fixture
    def nodes(self, site):
        """Nodes with a guest each, and a driver that wants to reshape them."""
        site.write(NODES, {"nodes": NODENAMES, "failing": []})
        site.configure(f"{DRIVERS}.CellNodes")
        with site.placement() as outsider:
            for name in NODENAMES:
                root = outsider.provider(name, inventory=INVENTORY, uuid=node_uuid(name))
                outsider.allocate({root: FLAVOR})
        return site

    def migrated(self, site):
        """For each node whether all of it is, or nothing."""
        found, allocations = site.everything()
        held = {provider for body in allocations.values() for provider in body["allocations"]}
        whole = []
        for name in NODENAMES:
            below = {uuid for uuid, seen in found.items() if seen[2] == node_uuid(name)}
            whole.append(("VCPU" not in found[node_uuid(name)][3], bool(below & held)))
        assert all(inventory == moved for inventory, moved in whole)
        return [inventory for inventory, _ in whole]

    # the driver is asked twice for each node: before its reshape and in it
    @pytest.mark.parametrize(
        ("call", "after"),
        [
            pytest.param(3, False, marks=pytest.mark.thorough),
            (4, False),
            pytest.param(4, True, marks=pytest.mark.thorough),
            pytest.param(5, False, marks=pytest.mark.thorough),
        ],
    )
    @on("postgresql")
    def test_ends_it_and_the_next_run_completes(self, server, nodes, dying, call, after):
        dying(CellNodes, "update_provider_tree", call, after)
        ended = nodes.run("migrate_compute_inventory")
        server.start()
        done = call // 2 if call % 2 else call // 2 - 1
        assert (ended.code, ended.err.count("\n")) == (1, 1)
        # an odd call comes before the first read of a node, an even one between reads and write
        failed = "Failed to " if call % 2 else "Resource provider inventory and allocation data"
        assert ended.err.startswith(f"nova-manage: node {NODENAMES[done]}: {failed}")
        assert ended.err.endswith(
            "; placement can't be used any more: 503 Service Unavailable "
            f"({3 - done} of 4 nodes weren't begun)\n"
        )
        assert self.migrated(nodes) == [index < done for index in range(len(NODENAMES))]
        assert nodes.run("migrate_compute_inventory").code == 0
        assert self.migrated(nodes) == [True] * len(NODENAMES)

    @pytest.mark.thorough
    @on("mariadb")
    def test_over_http_is_no_different(self, server, nodes, dying):
        with serving(nodes.url, roles=["admin", "service"]) as url:
            nodes.configure(f"{DRIVERS}.CellNodes", described(url))
            dying(CellNodes, "update_provider_tree", 4)
            ended = nodes.run("migrate_compute_inventory", "--http", "--json")
            server.start()
            assert (ended.code, ended.err.count("\n")) == (1, 1)
            assert ended.json["summary"] == {"migrated": 1, "failed": 1, "not begun": 2}
            assert nodes.run("migrate_compute_inventory", "--http").code == 0
        assert self.migrated(nodes) == [True] * len(NODENAMES)


class TestOneHost:
    @pytest.fixture
    def root(self, site):
        return site.start_service_once(MediumFakeDriver)

    def held(self, site, consumers):
        with site.placement() as outsider:
            return [bool(outsider.allocations(consumer)) for consumer in consumers]

    @pytest.fixture
    def leftovers(self, site, root):
        site.remember_a_guest()
        with site.placement() as outsider:
            return sorted(outsider.allocate({root: {"VCPU": 1}}) for _ in range(3))

    @pytest.mark.parametrize(
        "function",
        [pytest.param("read_consumer", marks=pytest.mark.thorough), "write_consumer"],
    )
    @on("mariadb")
    def test_auditing_ends_it_and_nothing_is_lost(self, server, site, leftovers, dying, function):
        journal = str(site.folder / "journal")
        dying(deletion, function, 2)
        ended = site.run("audit", "--delete", "--journal", journal)
        server.start()
        assert (ended.code, ended.err.count("\n")) == (1, 1)
        assert "database" in ended.err
        assert self.held(site, leftovers) == [False, True, True]
        assert site.run("audit", "--delete", "--journal", journal).code == 4
        assert self.held(site, leftovers) == [False] * 3
        assert site.run("audit", "--undo", journal).code == 0
        assert self.held(site, leftovers) == [True] * 3

    @on("postgresql")
    def test_undoing_ends_it_and_the_next_time_completes(self, server, site, leftovers, dying):
        journal = str(site.folder / "journal")
        site.run("audit", "--delete", "--journal", journal)
        dying(audit_command, "put_back", 2)
        ended = site.run("audit", "--undo", journal)
        server.start()
        assert (ended.code, ended.err.count("\n")) == (1, 1)
        assert self.held(site, leftovers).count(True) == 1
        assert site.run("audit", "--undo", journal).code == 0
        assert self.held(site, leftovers) == [True] * 3

    @pytest.fixture
    def network(self, site):
        with serving_site(site) as network:
            yield network

    @pytest.fixture
    def guests(self, site, root, network):
        return unhealed(site, root, network, 3, with_port=1)

    @pytest.mark.parametrize(
        "moment", [pytest.param("reading", marks=pytest.mark.thorough), "ports"]
    )
    @on("mariadb")
    def test_healing_ends_it_and_the_next_run_completes(
        self, server, site, network, guests, dying, moment
    ):
        if moment == "ports":
            network.refuse = lambda method, *_: (
                method == "PUT" and not network.updates and server.kill()
            )
        else:
            dying(Healer, "plan", 2)
        ended = site.run("heal_allocations", "--database")
        server.start()
        assert (ended.code, ended.out) == (3, "Processed 1 instances.\n")
        assert ended.err.count("\n") == 1
        assert network.profile(PORT) == {"kept": "as it was"}
        assert self.held(site, guests) == [True, False, False]
        assert site.run("heal_allocations", "--database").code == 0
        assert self.held(site, guests) == [True] * 3
        assert "allocation" in network.profile(PORT)

    @pytest.mark.parametrize(
        "command",
        [
            pytest.param("tree", marks=pytest.mark.thorough),
            pytest.param("consumers", marks=pytest.mark.thorough),
            "audit",
        ],
    )
    @on("postgresql")
    def test_looking_ends_it(self, server, site, leftovers, dying, command):
        dying(Extensions, "query" if command == "audit" else "get", 1)
        ended = site.run(command, "--json")
        assert (ended.code, ended.err.count("\n")) == (1, 1)
        assert "database" in ended.err
