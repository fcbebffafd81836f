"""The reference's own virtual environment, made on demand."""

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from tests.databases.keeper import only_one

REQUIREMENTS = (
    *("openstack-placement==16.0.0", "gunicorn>=22.0"),
    # to speak with PostgreSQL and MariaDB
    *("psycopg2-binary", "PyMySQL"),
)
#: how a URL begins, and how it does to be read with these drivers
SCHEMES = {"postgresql:": "postgresql+psycopg2:", "mysql:": "mysql+pymysql:"}
#: an interpreter that has REQUIREMENTS already
INTERPRETER = "BERTH_REFERENCE_PYTHON"
#: where the environment is kept from one run to the next
FOLDER = "BERTH_REFERENCE_DIR"


def reference_python() -> str:
    """The interpreter of an environment with the reference in it, which is installed if need be.

    `BERTH_REFERENCE_PYTHON` names an interpreter that is used as it is; otherwise the environment
    is in the folder `BERTH_REFERENCE_DIR`, and made there with pip if it isn't complete. Of several
    processes that ask, one makes it and the others wait.
    """
    if given := os.environ.get(INTERPRETER):
        return given
    folder = Path(os.environ.get(FOLDER, ".reference-environment")).absolute()
    complete_in(folder, _make)
    return str(_interpreter(folder))


def complete_in(folder: Path, make: Callable[[Path], None]) -> None:
    """Have the environment made in the folder unless it is complete, by one process at a time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    complete = folder / "complete"
    wanted = " ".join(REQUIREMENTS)
    with only_one(folder):
        if not complete.is_file() or complete.read_text() != wanted:
            make(folder)
            complete.write_text(wanted)


def _make(folder: Path) -> None:
    venv.create(folder, clear=True, with_pip=True)
    install = [str(_interpreter(folder)), "-m", "pip", "install", "--quiet", *REQUIREMENTS]
    subprocess.run(install, check=True, stdout=sys.stderr)


def _interpreter(folder: Path) -> Path:
    return folder / "bin" / "python"
