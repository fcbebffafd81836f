"""The program that the manual shows writes a list that is read."""

import json
import pathlib
import subprocess
import textwrap

from tests.unit.virt.consumers import uuid
from virt.ironic.inventory_file import InventoryFile

MANUAL = (pathlib.Path(__file__).parents[4] / "doc" / "driver_ironic.rst").read_text()


def code_with(text):
    """Return the literal block of the manual that has the text in it."""
    blocks = MANUAL.split("::\n\n")[1:]
    (block,) = [block for block in blocks if text in block]
    lines = block.splitlines()
    end = next(n for n, line in enumerate(lines) if line and not line.startswith("    "))
    return textwrap.dedent("\n".join(lines[:end]))


def test_the_list_that_is_shown_is_read(tmp_path):
    path = tmp_path / "baremetal.yaml"
    path.write_text(code_with("name: rack1-07"))
    assert [node.name for node in InventoryFile(str(path)).nodes()] == ["rack1-07", None]


def test_the_program_that_is_shown_writes_a_list_that_is_read(tmp_path, monkeypatch):
    machine = {
        "UUID": uuid(1),
        "Name": None,
        "Resource Class": "gold",
        "Maintenance": False,
        "Power State": "power on",
        "Provisioning State": "active",
        "Instance UUID": uuid(77),
    }
    answer = subprocess.CompletedProcess([], 0, stdout=json.dumps([machine]))
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: answer)
    monkeypatch.chdir(tmp_path)
    exec(code_with("explicit_end=True"), {})
    (node,) = InventoryFile("baremetal.yaml").nodes()
    assert (node.uuid, node.resource_class, node.instance_uuid) == (uuid(1), "gold", uuid(77))
