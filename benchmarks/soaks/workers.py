"""What worker processes have: memory, files, threads; and what the tables have."""

import os
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from placement.storage import tables
from tests.databases.questions import connected

#: tables of ours whose rows count what was written, not what there is
FEED = {tables.provider_changes.name, tables.change_lanes.name}


class Worker(NamedTuple):
    """A process at a moment.

    :param memory: resident bytes
    :param files: open descriptors
    """

    memory: int
    files: int
    threads: int


def worker(pid: int) -> Worker:
    """Look at a process."""
    process = Path(f"/proc/{pid}")
    resident = int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return Worker(
        resident, len(list((process / "fd").iterdir())), len(list((process / "task").iterdir()))
    )


def rows(url: str) -> dict[str, int]:
    """Return how many rows each table has."""
    with connected(url) as connection:
        names = sa.inspect(connection).get_table_names()
        found = {}
        for name in names:
            count = sa.select(sa.func.count()).select_from(sa.table(name))
            found[name] = int(connection.execute(count).scalar_one())
        return found
