"""The session of the manual, with an upgrade in it, is executed as it stands."""

import contextlib
import pathlib
from uuid import UUID

import pytest

from compute.records.aggregate import Aggregate, HostMapping
from compute.records.cell_database import sqlite
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor, Instance
from placement.direct import PlacementDirect
from tests.functional.compute.maintenance.second_day import populate_second
from tests.functional.compute.maintenance.session import Session, files, steps, without_chance
from tests.functional.compute.outsider import Outsider
from tests.service_settings import UNTIMED

MANUAL = (pathlib.Path(__file__).parents[4] / "doc" / "nova_manage.rst").read_text()
HOST = "compute1"
ROOT, FIRST, SECOND, LEFTOVER, RACK, CELL = (
    str(UUID(int=(0x5D0C1A2B << 96) + (4 << 76) + (8 << 60) + number)) for number in range(1, 7)
)
FLAVOR = Flavor(vcpus=2, memory_mb=2048, root_gb=20)
HELD = {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20}
INVENTORY = {
    "VCPU": {"total": 10, "max_unit": 10, "allocation_ratio": 4.0},
    "MEMORY_MB": {"total": 8192, "max_unit": 8192, "reserved": 512},
    "DISK_GB": {"total": 1028, "max_unit": 1028},
}


def populate(folder):
    """Make the cloud of the manual: a host, two instances (one without allocations), an orphan."""
    for name, content in files(MANUAL).items():
        (folder / name).write_text(content)
    state = folder / "state"
    state.mkdir()
    (state / "compute_id").write_text(ROOT)
    with contextlib.closing(sqlite.open_in(str(state))) as cell:
        cell.compute_nodes.create(ComputeNode(ROOT, HOST, HOST))
        cell.host_mappings.create(HostMapping(HOST, CELL))
        cell.aggregates.create(Aggregate(RACK, "rack1", hosts=[HOST]))
        for uuid in (FIRST, SECOND):
            known = {"host": HOST, "node": HOST, "project_id": "demo", "user_id": "demo"}
            cell.instances.create(Instance(uuid, vm_state="active", flavor=FLAVOR, **known))
    overrides = {
        **UNTIMED,
        ("placement_database", "connection"): f"sqlite:///{folder}/placement.db",
        ("placement_database", "sync_on_startup"): True,
    }
    with PlacementDirect.configured(files=[], environ=False, overrides=overrides) as adapter:
        outsider = Outsider(adapter)
        outsider.provider(HOST, inventory=INVENTORY, traits=["HW_CPU_X86_AVX2"], uuid=ROOT)
        outsider.allocate({ROOT: HELD}, consumer=FIRST)
        outsider.allocate({ROOT: HELD}, consumer=LEFTOVER)


@pytest.fixture
def session(tmp_path, monkeypatch, capsys, own_logging):
    populate(tmp_path)
    populate_second(tmp_path)
    monkeypatch.chdir(tmp_path)
    # however busy the machine is, all that helps is found
    monkeypatch.setenv("OS_BERTH__EXPLAIN_BUDGET_MS", "60000")
    return Session(capsys.readouterr)


def test_the_manual_shows_what_its_commands_print(session):
    expected, found = {}, {}
    for command, shown in steps(MANUAL):
        printed = session.run(command)
        assert (command, without_chance(printed, found)) == (
            command,
            without_chance(shown, expected),
        )


def test_the_manual_shows_every_command(capsys):
    session = Session(capsys.readouterr)
    # lines that go on with a description are indented further
    help_lines = session.run("nova-manage placement").splitlines()[1:]
    listed = {line.split()[0] for line in help_lines if not line.startswith("   ")}
    shown = {
        command.split(" placement ")[1].split()[0]
        for command, _ in steps(MANUAL)
        if " placement " in command
    }
    assert shown == listed
