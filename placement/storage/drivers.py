"""How the driver of each kind of database is given a text and its values."""

import copy
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

#: by the driver's name, how its texts name their values: all of them by place
_STYLES = {"psycopg": "numeric_dollar", "pysqlite": "qmark"}
_OTHER_STYLE = "format"


class Driver:
    """The driver of an engine.

    :param dialect: the engine's; `dialect` of this object compiles for the driver's own texts, in
        which every value has its place
    """

    def __init__(self, dialect: sa.Dialect) -> None:
        self.dialect = copy.copy(dialect)
        self.dialect.paramstyle = _STYLES.get(dialect.driver, _OTHER_STYLE)
        self.dialect.positional = True
        # how it writes a percent sign depends on the style
        self.dialect.identifier_preparer = dialect.preparer(self.dialect)
        self.style = self.dialect.paramstyle
        self.cursor: Callable[[Any], Any] = _any_cursor
        if dialect.driver == "psycopg":
            # its own cursors read each text again for places that have its own style
            from psycopg import RawCursor

            self.cursor = lambda pooled: RawCursor(pooled.driver_connection)


def _any_cursor(pooled: Any) -> Any:
    return pooled.cursor()
