"""The records of this host, for a command: as the service left them."""

import contextlib
import os
from collections.abc import Iterator

from oslo_config import cfg

from compute.cli.command_line import InvalidInput
from compute.exceptions import InvalidConfiguration
from compute.records.cell_database import CellDatabase, sqlite
from compute.records.cell_database.memory import MemoryCellDatabase


@contextlib.contextmanager
def records(conf: cfg.ConfigOpts) -> Iterator[CellDatabase]:
    """The cell database of `state_path`; where there is none, an empty one that leaves no trace.

    Raises InvalidInput if it can't be opened.
    """
    if not os.path.exists(os.path.join(conf.state_path, sqlite.FILE_NAME)):
        yield MemoryCellDatabase()
        return
    try:
        cell = sqlite.open_in(conf.state_path)
    except InvalidConfiguration as error:
        raise InvalidInput(error) from error
    with contextlib.closing(cell):
        yield cell
