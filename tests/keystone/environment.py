"""The virtual environment of keystone and of the clients, created when needed."""

import os
import subprocess
import sys
import venv
from pathlib import Path

from tests.reference.environment import complete_in

#: the versions of the other packages are those of a release
CONSTRAINTS = Path(__file__).parents[1] / "constraints" / "upper-constraints-2026.1.txt"
REQUIREMENTS = ("keystone==30.0.0", "gunicorn", "python-openstackclient", "osc-placement")
#: variable with the folder of the environment, which later runs use again
FOLDER = "BERTH_KEYSTONE_DIR"


def keystone_programs() -> Path:
    """Return the folder with keystone, gunicorn and openstack; install them if needed."""
    folder = Path(os.environ.get(FOLDER, ".keystone-environment")).absolute()
    complete_in(folder, _make, REQUIREMENTS)
    return folder / "bin"


def _make(folder: Path) -> None:
    # its versions and those of our own environment would clash
    venv.create(folder, clear=True, with_pip=True)
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    install += ["--constraint", str(CONSTRAINTS), *REQUIREMENTS]
    subprocess.run(install, check=True, stdout=sys.stderr)
