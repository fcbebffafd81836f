"""Report an error that stops a command in one line instead of a traceback."""

import contextlib
import re
import sys
from collections.abc import Callable, Iterator

from oslo_config import cfg

from placement.config import logs
from placement.errors import PlacementError
from placement.installation import UnusableInstallation

#: exit code of a command that can't do its work
FAILED = 1

#: ends of SQLite's messages about a file or folder that this user can't write
_SQLITE_FILE = ("unable to open database file", "attempt to write a readonly database")
_NO_SQLITE = ("file is not a database", "database disk image is malformed")
_SQLITE_HINT = (
    "The file is named in [placement_database]connection; without configuration it is placement.db "
    "in the working directory. This user needs to be able to write to the file and its directory."
)


@contextlib.contextmanager
def told(
    command: str, code: int = FAILED, wants_json: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Exit with one line on stderr if installation, configuration or database can't be used.

    :param command: name of the program, for the line
    :param code: the exit code
    :param wants_json: whether the line is one of a JSON log; called after a failure only
    """
    try:
        yield
    except Exception as error:
        if not _is_told(error):
            raise
        say(command, line_of(error), wants_json())
        sys.exit(code)


def say(command: str, text: str, as_json: bool) -> None:
    """Write a message on stderr, as a line of text or of a JSON log."""
    print(logs.json_line(command, text) if as_json else f"{command}: {text}", file=sys.stderr)


def _is_told(error: Exception) -> bool:
    # imported here because a command that succeeds may need no database
    from sqlalchemy.exc import SQLAlchemyError

    from placement.storage.driver.dialects import DatabaseUnusable
    from placement.storage.schema.schema_upgrade import SchemaDiffers

    told = (
        cfg.Error,
        SQLAlchemyError,
        DatabaseUnusable,
        SchemaDiffers,
        PlacementError,
        UnusableInstallation,
    )
    return isinstance(error, told)


def line_of(error: Exception) -> str:
    """Return the error's message; for errors of the database, without the SQL statement."""
    from sqlalchemy.exc import DBAPIError

    if isinstance(error, PlacementError) and isinstance(error.__cause__, DBAPIError):
        error = error.__cause__
    if isinstance(error, DBAPIError):
        text = f"The database can't be used: {' '.join(str(error.orig).split())}"
        if text.endswith(_NO_SQLITE):
            named = "what [placement_database]connection names"
            return f"{text}: {named} is damaged, or is no database of SQLite"
        return f"{text}. {_SQLITE_HINT}" if text.endswith(_SQLITE_FILE) else text
    # oslo.config shows the place of a wrong value as the representation of an object
    return re.sub(r"LocationInfo\(.*?detail='(.*?)'\)", r"\1", str(error))
