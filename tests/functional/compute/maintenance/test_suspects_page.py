"""The story of doc/suspects.rst, from the alert to the cure, is executed as it stands."""

import contextlib
import pathlib
import re
from uuid import UUID

import pytest

from compute.records.cell_database import sqlite
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor, Instance
from placement.direct import PlacementDirect
from tests.functional.compute.maintenance.session import Session, files, steps, without_chance
from tests.functional.compute.outsider import Outsider
from tests.service_settings import UNTIMED

PAGE = (pathlib.Path(__file__).parents[4] / "doc" / "suspects.rst").read_text()
HERE, THERE, MOVED, STAYING = (
    str(UUID(int=(0x5D0C1A2B << 96) + (4 << 76) + (8 << 60) + number)) for number in range(1, 5)
)
HELD = {"VCPU": 2, "MEMORY_MB": 2048}
INVENTORY = {"VCPU": {"total": 16}, "MEMORY_MB": {"total": 8192}}
TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


@pytest.fixture
def session(tmp_path, monkeypatch, capsys, own_logging):
    """Make the cloud of the page: an instance moved to another host, and held both."""
    for name, content in files(PAGE).items():
        (tmp_path / name).write_text(content)
    state = tmp_path / "state"
    state.mkdir()
    (state / "compute_id").write_text(HERE)
    with contextlib.closing(sqlite.open_in(str(state))) as cell:
        cell.compute_nodes.create(ComputeNode(HERE, "compute1", "compute1"))
        for uuid, host in ((MOVED, "compute2"), (STAYING, "compute1")):
            known = {"host": host, "node": host, "project_id": "demo", "user_id": "demo"}
            size = Flavor(vcpus=2, memory_mb=2048)
            cell.instances.create(Instance(uuid, vm_state="active", flavor=size, **known))
    overrides = {
        **UNTIMED,
        ("placement_database", "connection"): f"sqlite:///{tmp_path}/placement.db",
        ("placement_database", "sync_on_startup"): True,
    }
    with PlacementDirect.configured(files=[], environ=False, overrides=overrides) as adapter:
        outsider = Outsider(adapter)
        outsider.provider("compute1", inventory=INVENTORY, uuid=HERE)
        outsider.provider("compute2", inventory=INVENTORY, uuid=THERE)
        outsider.allocate({HERE: HELD, THERE: HELD}, consumer=MOVED)
        outsider.allocate({HERE: HELD}, consumer=STAYING)
    monkeypatch.chdir(tmp_path)
    # on the page, it has been so for longer than the default
    monkeypatch.setenv("OS_BERTH__SUSPECTS_GRACE", "0")
    return Session(capsys.readouterr)


def test_the_page_shows_what_its_commands_print(session):
    expected, found = {}, {}
    told = steps(PAGE)
    assert len(told) >= 5
    for command, shown in told:
        printed = TIME.sub("then", without_chance(session.run(command), found))
        assert (command, printed) == (
            command,
            TIME.sub("then", without_chance(shown, expected)),
        )
