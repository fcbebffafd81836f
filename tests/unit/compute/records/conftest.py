"""Cell databases of both kinds."""

import pytest

from compute.records.cell_database import sqlite
from compute.records.cell_database.memory import MemoryCellDatabase


@pytest.fixture(params=["memory", "sqlite"])
def cell(request, tmp_path):
    """Return a cell database in memory, or in SQLite."""
    if request.param == "memory":
        yield MemoryCellDatabase()
        return
    database = sqlite.open_in(str(tmp_path / "state"))
    yield database
    database.close()
