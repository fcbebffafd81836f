"""Records of hosts, which begin as a copy: to create the tables takes as long as a short test."""

import contextlib
import functools
import tempfile
from pathlib import Path

from compute.records.cell_database import sqlite


def opened(state_path):
    """Open the cell database of a state path; a missing one has the schema and nothing else."""
    file = Path(state_path) / sqlite.FILE_NAME
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_template())
    return sqlite.open_in(str(state_path))


@functools.cache
def _template():
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.closing(sqlite.open_in(folder)):
            """The schema is there."""
        return (Path(folder) / sqlite.FILE_NAME).read_bytes()
