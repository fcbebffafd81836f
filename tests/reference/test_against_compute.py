"""The compute library's scenarios (compute.md 9.1–9.4) have the same outcomes with the reference.

The tests of tests/functional/compute with a scenario's id run again, with the reference instead of
Berth, and so do those of what drivers tell placement.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import extent
from tests.reference.environment import reference_python
from tests.reference.starting import Starter, wait_for

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "tests" / "functional" / "compute"
#: not run, because it starts its own services
AGENT_PROCESS = SCENARIOS / "test_agent_process.py"
#: what drivers tell placement: these run as a whole
DRIVERS = (
    *("test_fenced_devices.py", "test_owner_trait.py", "test_libvirt_hypervisor.py"),
    "test_ironic_nodes.py",
)
#: these, too, in a thorough run
MORE = ("test_libvirt_gpus.py", "test_libvirt_reshapes.py", "test_pci_in_placement.py")
#: what is told of a role that is missing
ROLE = "test_report_client_reshape.py::test_a_caller_without_the_service_role_fails_to_reshape"
#: C: report client, R: reshape, A: tracker-written allocations
NAMED = re.compile(r"^def (test_[cra]\d+_\w+)", re.MULTILINE)


def scenarios() -> list[str]:
    """Return the tests by their pytest ids."""
    return [
        f"{path}::{name}"
        for path in sorted(SCENARIOS.glob("test_*.py"))
        if path != AGENT_PROCESS
        for name in NAMED.findall(path.read_text())
    ] + [str(SCENARIOS / name) for name in _whole()]


def test_every_scenario_has_the_same_outcome(tmp_path: Path) -> None:
    starter = Starter(reference_python(), tmp_path / "reference")
    try:
        port, _ = starter.start()
        wait_for(port)
        named = scenarios()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *named],
            cwd=ROOT,
            env=os.environ | {"BERTH_TEST_PLACEMENT_URL": f"http://127.0.0.1:{port}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    finally:
        starter.close()

    assert len(named) > 70
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= len(named), done.stdout
    assert "skipped" not in done.stdout


def _whole() -> tuple[str, ...]:
    return (*DRIVERS, ROLE, *(MORE if extent.thorough else ()))


@pytest.mark.parametrize("family", ["test_c", "test_r", "test_a"])
def test_every_family_of_scenarios_is_among_them(family: str) -> None:
    assert any(f"::{family}" in name for name in scenarios())
