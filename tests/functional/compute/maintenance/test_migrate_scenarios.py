"""`migrate_compute_inventory`, the scenarios M1–M7 of compute.md §9.5, on each kind of database."""

import json

import pytest

from compute.records.instance import Instance
from tests.functional.compute.maintenance.drivers import MDEVS, NODES, FlatVGPUHost
from tests.functional.compute.maintenance.site import DRIVERS, FLAVOR, HOST, INVENTORY
from virt.fake import MediumFakeDriver
from virt.fake.driver import node_uuid

pytestmark = pytest.mark.spread_over_databases

NODENAMES = ["node-a", "node-b", "node-c"]


@pytest.fixture
def vgpu_host(site):
    """Two guests with a virtual GPU each, on a host that will report GPUs as children."""
    root = site.start_service_once(FlatVGPUHost)
    with site.placement() as outsider:
        guests = [outsider.allocate({root: FLAVOR | {"VGPU": 1}}) for _ in range(2)]
    devices = ("pci_0000_84_00_0", "pci_0000_85_00_0")
    site.write(MDEVS, {guest: {device: 1} for guest, device in zip(guests, devices, strict=True)})
    site.configure(f"{DRIVERS}.VGPUHost")
    return root, guests


@pytest.fixture
def three_nodes(site):
    """Nodes that report VCPU and MEMORY_MB on the root, a guest on each; the second will fail."""
    site.configure(f"{DRIVERS}.CellNodes")
    site.write(NODES, {"nodes": NODENAMES, "failing": ["node-b"]})
    with site.placement() as outsider:
        return {
            name: outsider.allocate(
                {outsider.provider(name, inventory=INVENTORY, uuid=node_uuid(name)): FLAVOR}
            )
            for name in NODENAMES
        }


def children(outsider, root):
    """Name → uuid of the providers below a root."""
    rows = outsider.call("GET", f"/resource_providers?in_tree={root}")["resource_providers"]
    return {row["name"]: row["uuid"] for row in rows if row["uuid"] != root}


class TestM1VGPUsMoveWithOnlyTheDatabaseThere:
    def test_m1_the_command_succeeds_and_opens_no_socket(self, site, vgpu_host, no_network):
        ended = site.run("migrate_compute_inventory")
        assert (ended.code, ended.err) == (0, "")
        assert f"[1/1] {HOST}: migrated, 3 providers created" in ended.out

    def test_m1_inventory_is_as_after_the_service_s_own_reshape(self, site, vgpu_host):
        root, _ = vgpu_host
        site.run("migrate_compute_inventory")
        with site.placement() as outsider:
            totals = {
                name: outsider.totals(uuid) for name, uuid in children(outsider, root).items()
            }
            assert totals == {
                f"{HOST}_pci_0000_84_00_0": {"VGPU": 1},
                f"{HOST}_pci_0000_85_00_0": {"VGPU": 1},
                f"{HOST}_pci_0000_86_00_0": {"VGPU": 1},
            }
            assert set(outsider.totals(root)) == {"VCPU", "MEMORY_MB", "DISK_GB"}

    def test_m1_allocations_are_as_after_the_service_s_own_reshape(self, site, vgpu_host):
        root, guests = vgpu_host
        site.run("migrate_compute_inventory")
        with site.placement() as outsider:
            gpus = children(outsider, root)
            assert [outsider.allocations(guest) for guest in guests] == [
                {root: FLAVOR, gpus[f"{HOST}_pci_0000_84_00_0"]: {"VGPU": 1}},
                {root: FLAVOR, gpus[f"{HOST}_pci_0000_85_00_0"]: {"VGPU": 1}},
            ]


def test_m2_a_second_run_writes_nothing(site, vgpu_host):
    site.run("migrate_compute_inventory")
    before = site.rows()
    ended = site.run("migrate_compute_inventory")
    assert ended.code == 0
    assert f"{HOST}: no reshape needed" in ended.out
    assert site.rows() == before


def test_m3_other_inventory_without_a_reshape_is_left_as_it_is(site):
    site.start_service_once(MediumFakeDriver)
    site.configure(f"{DRIVERS}.BiggerHost")
    before = site.rows()
    assert site.run("migrate_compute_inventory").code == 0
    assert site.rows() == before


def test_other_inventory_is_stored_with_sync(site):
    root = site.start_service_once(MediumFakeDriver)
    site.configure(f"{DRIVERS}.BiggerHost")
    ended = site.run("migrate_compute_inventory", "--sync")
    assert (ended.code, f"{HOST}: synchronized" in ended.out) == (0, True)
    with site.placement() as outsider:
        assert outsider.totals(root)["VCPU"] == 12


class TestM4ADryRun:
    def test_m4_a_pending_reshape_is_4_and_nothing_is_written(self, site, vgpu_host):
        before = site.rows()
        ended = site.run("migrate_compute_inventory", "--dry-run")
        assert (ended.code, ended.err) == (4, "")
        assert site.rows() == before

    def test_m4_without_a_pending_reshape_it_is_0(self, site, vgpu_host):
        site.run("migrate_compute_inventory")
        before = site.rows()
        assert site.run("migrate_compute_inventory", "--dry-run").code == 0
        assert site.rows() == before

    @pytest.mark.parametrize("journal_mode", ["wal", "delete"])
    @pytest.mark.parametrize("driver", ["VGPUHost", "FlatVGPUHost"])
    def test_m4_an_sqlite_database_is_byte_identical(self, sqlite_site, journal_mode, driver):
        path = stored_as(sqlite_site, journal_mode)
        sqlite_site.configure(f"{DRIVERS}.{driver}")
        before = path.read_bytes(), sorted(sqlite_site.folder.glob("placement.db*"))
        ended = sqlite_site.run("migrate_compute_inventory", "--dry-run", "--verbose")
        assert ended.code == (4 if driver == "VGPUHost" else 0)
        assert (path.read_bytes(), sorted(sqlite_site.folder.glob("placement.db*"))) == before


def stored_as(site, journal_mode):
    """Make a host with virtual GPUs in a database file of that mode; return its path."""
    import sqlite3

    site.start_service_once(FlatVGPUHost)
    # nobody has the database open
    site.close()
    path = site.folder / "placement.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode={journal_mode}")
    connection.close()
    return path


class TestM5OneOfThreeNodesFails:
    def test_m5_the_others_are_migrated_and_the_worst_code_is_returned(self, site, three_nodes):
        ended = site.run("migrate_compute_inventory")
        assert ended.code == 3
        assert ended.err == (
            "nova-manage: node node-b: Resource provider inventory and allocation data migration "
            "failed: this one can't tell who has what\n"
        )
        with site.placement() as outsider:
            moved = [len(children(outsider, node_uuid(name))) for name in NODENAMES]
            assert moved == [2, 0, 2]
            assert outsider.allocations(three_nodes["node-b"]) == {node_uuid("node-b"): FLAVOR}

    def test_m5_each_reshape_names_only_its_node_s_tree(self, site, three_nodes):
        ended = site.run("migrate_compute_inventory", "--dry-run", "--json")
        reports = {report["node"]: report for report in ended.json["nodes"]}
        for name in ("node-a", "node-c"):
            payload = reports[name]["reshaper"]
            expected = {node_uuid(name), *(made["uuid"] for made in reports[name]["created"])}
            assert set(payload["inventories"]) == expected
            assert set(payload["allocations"]) == {three_nodes[name]}

    def test_m5_a_later_run_does_what_is_left(self, site, three_nodes):
        site.run("migrate_compute_inventory")
        site.write(NODES, {"nodes": NODENAMES, "failing": []})
        ended = site.run("migrate_compute_inventory", "--json")
        assert ended.code == 0
        assert [report["result"] for report in ended.json["nodes"]] == [
            "no reshape needed",
            "migrated",
            "no reshape needed",
        ]


class TestM7WhatIsNotThere:
    def test_m7_an_unknown_node_is_2_and_nothing_is_done(self, site, three_nodes):
        before = site.everything()
        ended = site.run("migrate_compute_inventory", "--node", "node-a", "--node", "nowhere")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err == (
            "nova-manage: Host host1 has no compute node nowhere: its driver lists node-a, "
            "node-b, node-c.\n"
        )
        assert site.everything() == before

    def test_m7_a_bad_driver_is_5(self, site):
        ended = site.run("migrate_compute_inventory", "--driver", "vendor.Missing")
        assert (ended.code, ended.out) == (5, "")
        assert "Unknown compute driver 'vendor.Missing'" in ended.err


def test_a_dry_run_tells_what_moves_and_who_moves(site, vgpu_host):
    _, (first, second) = vgpu_host
    with site.cell() as cell:
        cell.instances.create(Instance(first, host=HOST, node=HOST))
    lines = site.run("migrate_compute_inventory", "--dry-run", "--verbose").out.splitlines()
    created = [line.partition(" (")[0] for line in lines if line.startswith("  would create ")]
    assert created == [f"  would create {HOST}_pci_0000_{card}_00_0" for card in (84, 85, 86)]
    assert "    ├── VGPU       ███████░░░  2 of 3 used  (total 3)  ← moves away" in lines
    assert {f"    {first} (instance on {HOST})", f"    {second}"} <= set(lines)


def test_a_dry_run_tells_json_what_it_tells_people(site, vgpu_host):
    root, guests = vgpu_host
    (report,) = site.run("migrate_compute_inventory", "--dry-run", "--json").json["nodes"]
    assert report["result"] == "would be migrated"
    assert [made["name"] for made in report["created"]] == [
        f"{HOST}_pci_0000_84_00_0",
        f"{HOST}_pci_0000_85_00_0",
        f"{HOST}_pci_0000_86_00_0",
    ]
    assert [len(report[side]) for side in ("before", "after")] == [1, 4]
    assert report["misfits"] == []
    gpus = {made["name"]: made["uuid"] for made in report["created"]}
    (move,) = report["moves"][guests[0]]
    assert move == {
        "resource_class": "VGPU",
        "amount": 1,
        "from": root,
        "to": gpus[f"{HOST}_pci_0000_84_00_0"],
        "renamed_to": None,
    }
    assert json.dumps(report["reshaper"]).count("VGPU") == 5
