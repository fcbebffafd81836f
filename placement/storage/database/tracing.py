"""What operators and developers can see of SQL statements: the log, and who sent a statement."""

import logging
import pathlib
import traceback

import sqlalchemy as sa
from sqlalchemy import event

_PACKAGE = pathlib.Path(__file__).parents[2]
#: files that every statement passes: they don't say who sent it
_BETWEEN = (__file__, str(_PACKAGE / "storage" / "database" / "connection.py"))


def logging_name(level: int) -> str:
    """Set up a logger of statements and return the name that an engine must have to use it.

    :param level: `[placement_database]connection_debug`: from 50 on statements are logged, from
        100 on also the rows found
    """
    name = f"placement.{level}"
    verbosity = logging.DEBUG if level >= 100 else logging.INFO if level >= 50 else logging.WARNING
    logging.getLogger(f"sqlalchemy.engine.Engine.{name}").setLevel(verbosity)
    return name


def name_callers(engine: sa.Engine) -> None:
    """End each statement with a comment that names the functions of this package that called."""

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def comment(
        connection: sa.Connection, cursor: object, statement: str, parameters: object, *_: object
    ) -> tuple[str, object]:
        # without `%`, which drivers would read as a parameter, and without an end of the comment
        callers = [
            f"{frame.filename.removeprefix(str(_PACKAGE))}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_stack()
            if frame.filename.startswith(str(_PACKAGE)) and frame.filename not in _BETWEEN
        ]
        text = " < ".join(reversed(callers)).replace("%", "").replace("*/", "")
        return f"{statement} /* {text} */", parameters
