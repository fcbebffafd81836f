"""pip finds versions for every extra under the constraints of OpenStack's releases."""

import configparser
import subprocess
import sys

import pytest

from tests.installation.conftest import ROOT


def extras():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return ",".join(setup["options.extras_require"])


@pytest.mark.parametrize("release", ["2025.1", "2025.2", "2026.1"])
def test_the_constraints_of_a_release_can_be_met(wheel, release):
    constraints = ROOT / "tests" / "constraints" / f"upper-constraints-{release}.txt"
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"),
            *("--constraint", str(constraints), f"{wheel}[{extras()}]"),
        ],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Would install" in ran.stdout
