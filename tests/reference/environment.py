"""The reference's own virtual environment, made on demand."""

import os
import subprocess
import sys
import venv
from pathlib import Path

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
    is in the folder `BERTH_REFERENCE_DIR`, and made there with pip if it isn't complete.
    """
    if given := os.environ.get(INTERPRETER):
        return given
    folder = Path(os.environ.get(FOLDER, ".reference-environment")).absolute()
    interpreter = folder / "bin" / "python"
    complete = folder / "complete"
    wanted = " ".join(REQUIREMENTS)
    if not complete.is_file() or complete.read_text() != wanted:
        venv.create(folder, clear=True, with_pip=True)
        install = [str(interpreter), "-m", "pip", "install", "--quiet", *REQUIREMENTS]
        subprocess.run(install, check=True, stdout=sys.stderr)
        complete.write_text(wanted)
    return str(interpreter)
