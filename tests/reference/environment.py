"""The reference's own virtual environment, created when needed."""

import os
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.databases.keeper import only_one

REQUIREMENTS = (
    *("openstack-placement==16.0.0", "gunicorn>=22.0"),
    # drivers for PostgreSQL and MariaDB
    *("psycopg2-binary", "PyMySQL"),
)
#: beginnings of URLs, without and with these drivers
SCHEMES = {"postgresql:": "postgresql+psycopg2:", "mysql:": "mysql+pymysql:"}
#: variable with an interpreter that has REQUIREMENTS already
INTERPRETER = "BERTH_REFERENCE_PYTHON"
#: variable with the folder of the environment, which later runs use again
FOLDER = "BERTH_REFERENCE_DIR"


def reference_python() -> str:
    """Return the interpreter of an environment with the reference; install it if needed.

    `BERTH_REFERENCE_PYTHON` names an interpreter to use as it is. Otherwise the environment is in
    the folder `BERTH_REFERENCE_DIR`; pip completes it if needed. If several processes call this
    concurrently, one creates the environment and the others wait.
    """
    if given := os.environ.get(INTERPRETER):
        return given
    folder = Path(os.environ.get(FOLDER, ".reference-environment")).absolute()
    complete_in(folder, _make, REQUIREMENTS)
    return str(_interpreter(folder))


def complete_in(
    folder: Path, make: Callable[[Path], None], requirements: Sequence[str] = ()
) -> None:
    """Call `make` for the folder unless it is complete, in one process at a time.

    :param requirements: what `make` installs; a folder made for others isn't complete
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    complete = folder / "complete"
    wanted = " ".join(requirements)
    with only_one(folder):
        if not complete.is_file() or complete.read_text() != wanted:
            make(folder)
            complete.write_text(wanted)


def _make(folder: Path) -> None:
    begun = folder / "made-by-berth-tests"
    ours = begun.is_file() or (folder / "complete").is_file()
    if folder.exists() and any(folder.iterdir()) and not ours:
        # all of it would be removed
        raise FileExistsError(f"{FOLDER}: delete {folder}, or name another folder.")
    venv.create(folder, clear=True)
    begun.touch()
    pip = [sys.executable, "-m", "pip", "--python", str(_interpreter(folder))]
    subprocess.run([*pip, "install", "--quiet", *REQUIREMENTS], check=True, stdout=sys.stderr)


def _interpreter(folder: Path) -> Path:
    return folder / "bin" / "python"
