"""The session of doc/heal.rst is executed as it stands."""

import contextlib
import json
import pathlib
from uuid import UUID

import pytest

from compute.records.cell_database import sqlite
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor, Instance
from placement.direct import PlacementDirect
from tests.functional.compute.maintenance.drivers import MDEVS
from tests.functional.compute.maintenance.session import Session, files, steps, without_chance
from tests.functional.compute.maintenance.site import DRIVERS
from tests.functional.compute.outsider import Outsider
from tests.service_settings import UNTIMED

PAGE = (pathlib.Path(__file__).parents[4] / "doc" / "heal.rst").read_text()
HOST = "gpu1"
ROOT, LOST, DOUBLED, STOPPED, *CARDS = (
    str(UUID(int=(0x5D0C1A2B << 96) + (4 << 76) + (8 << 60) + number)) for number in range(1, 8)
)
SIZE = {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20}
FLAVOR = Flavor(vcpus=2, memory_mb=2048, root_gb=20, extra_specs={"resources:VGPU": "1"})
NAMES = ("pci_0000_84_00_0", "pci_0000_85_00_0", "pci_0000_86_00_0")


@pytest.fixture
def session(tmp_path, monkeypatch, capsys, own_logging):
    """Make the cloud of the page; a driver that reads a file stands for libvirt's."""
    for name, content in files(PAGE).items():
        driver = content.replace("libvirt.LibvirtDriver", f"{DRIVERS}.VGPUHost")
        (tmp_path / name).write_text(driver)
    state = tmp_path / "state"
    state.mkdir()
    (state / "compute_id").write_text(ROOT)
    mdevs = {LOST: {NAMES[0]: 1}, DOUBLED: {NAMES[1]: 1}}
    (state / MDEVS).write_text(json.dumps(mdevs))
    with contextlib.closing(sqlite.open_in(str(state))) as cell:
        cell.compute_nodes.create(ComputeNode(ROOT, HOST, HOST))
        for number, uuid in enumerate((LOST, DOUBLED, STOPPED)):
            known = {"host": HOST, "node": HOST, "project_id": "demo", "user_id": "demo"}
            # the last one comes when the page speaks of it
            known |= {"task_state": "powering-off"} if uuid == STOPPED else {}
            cell.instances.create(
                Instance(uuid, vm_state="active", flavor=FLAVOR, created_at=float(number), **known)
            )
    overrides = {
        **UNTIMED,
        ("placement_database", "connection"): f"sqlite:///{tmp_path}/placement.db",
        ("placement_database", "sync_on_startup"): True,
    }
    with PlacementDirect.configured(files=[], environ=False, overrides=overrides) as adapter:
        outsider = Outsider(adapter)
        inventory = {
            "VCPU": {"total": 16},
            "MEMORY_MB": {"total": 65536},
            "DISK_GB": {"total": 900},
        }
        outsider.provider(HOST, inventory=inventory, uuid=ROOT)
        for name, uuid in zip(NAMES, CARDS, strict=True):
            outsider.provider(f"{HOST}_{name}", ROOT, {"VGPU": {"total": 1}}, uuid=uuid)
        held = {ROOT: SIZE, CARDS[1]: {"VGPU": 1}, CARDS[2]: {"VGPU": 1}}
        body = {
            "allocations": {uuid: {"resources": part} for uuid, part in held.items()},
            "project_id": "demo",
            "user_id": "demo",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        outsider.call("PUT", f"/allocations/{DOUBLED}", body)
    monkeypatch.chdir(tmp_path)
    return Session(capsys.readouterr)


def stop():
    """Let the third guest be shut down."""
    with contextlib.closing(sqlite.open_in("state")) as cell:
        record = cell.instances.by_uuid(STOPPED)
        record.task_state = None
        cell.instances.save(record)


def test_the_page_shows_what_its_commands_print(session):
    expected, found = {}, {}
    for command, shown in steps(PAGE):
        if "--instance" in command:
            stop()
        printed = session.run(command)
        assert (command, without_chance(printed, found)) == (
            command,
            without_chance(shown, expected),
        )
