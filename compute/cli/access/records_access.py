"""How a command reaches the records of this host, as the compute service left them."""

import contextlib
import os
from collections.abc import Iterator

from oslo_config import cfg

from compute.cli.command_line import UnusableInput
from compute.exceptions import InvalidConfiguration
from compute.records.cell_database import CellDatabase, sqlite
from compute.records.cell_database.memory import MemoryCellDatabase


@contextlib.contextmanager
def records(conf: cfg.ConfigOpts, read_only: bool = True) -> Iterator[CellDatabase]:
    """Open the cell database in `state_path` for as long as the context lasts.

    With `read_only`, no file is changed, and another user than the agent's may do it. A command
    that writes to placement by what it reads, for long, needs to see what the agent writes
    meanwhile. Without one, give an empty database in memory: a command makes no file. Raises
    UnusableInput if the database can't be opened.
    """
    if not os.path.exists(os.path.join(conf.state_path, sqlite.FILE_NAME)):
        yield MemoryCellDatabase()
        return
    try:
        cell = sqlite.open_in(conf.state_path, read_only)
    except InvalidConfiguration as error:
        raise UnusableInput(error) from error
    with contextlib.closing(cell):
        yield cell
