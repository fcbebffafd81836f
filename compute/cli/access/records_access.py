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
def records(conf: cfg.ConfigOpts) -> Iterator[CellDatabase]:
    """Open the cell database in `state_path` for as long as the context lasts.

    Without one, give an empty database in memory: a command makes no file. Raises UnusableInput if
    the database can't be opened.
    """
    if not os.path.exists(os.path.join(conf.state_path, sqlite.FILE_NAME)):
        yield MemoryCellDatabase()
        return
    try:
        cell = sqlite.open_in(conf.state_path)
    except InvalidConfiguration as error:
        raise UnusableInput(error) from error
    with contextlib.closing(cell):
        yield cell
