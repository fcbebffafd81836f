"""How statements go to the driver of a database.

Two kinds of databases have a module of their own for it: `mysql_driver.py`, `postgresql_driver.py`.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import PoolProxiedConnection

#: parameters are written as `$1`, `$2`, …
NUMBERED = "numeric_dollar"
#: by the driver's name, how a text marks its parameters: `$1`, `?` or `%s`, all of them by position
_STYLES = {"psycopg": NUMBERED, "pysqlite": "qmark"}
_OTHER_STYLE = "format"

#: key in the `info` of a connection: whether several statements can go to it in one message
BATCHES = "batches"
#: attributes of exceptions
_STOPPED = "berth_stopped_before_the_last"
_TEXT = "berth_text"

#: a text; its values by position, or a list of such values for one row each; whether it is a list
Call = tuple[str, Any, bool]
#: sends statements on a pooled connection; returns what each found
Run = Callable[[PoolProxiedConnection, Sequence[Call]], list[Any]]


class StatementDriver:
    """The driver of an engine.

    :param dialect: the engine's. The attribute `dialect` is a copy that writes parameters as the
        driver itself reads them
    """

    #: a function that returns whether nothing is open on a connection; None: the pool has to look
    is_free: Callable[[PoolProxiedConnection], bool] | None = None
    #: sends statements like `run`, but reads arrays as numpy's, and returns the only row of each
    #: statement; None: the driver has no such function
    arrays: Run | None = None

    def __init__(self, dialect: sa.Dialect) -> None:
        self.dialect = copy.copy(dialect)
        self.dialect.paramstyle = _STYLES.get(dialect.driver, _OTHER_STYLE)
        self.dialect.positional = True
        # how it writes a percent sign depends on the style
        self.dialect.identifier_preparer = dialect.preparer(self.dialect)
        self.style = self.dialect.paramstyle

    def batches(self, pooled: PoolProxiedConnection) -> bool:
        """Return whether statements to this connection can go in one message."""
        return pooled.info.get(BATCHES, False)

    def run(self, pooled: PoolProxiedConnection, calls: Sequence[Call]) -> list[object]:
        """Send statements; return for each a cursor, or an object with a cursor's methods."""
        return [executed(pooled.cursor(), call) for call in calls]

    def may_commit_with(self, pooled: PoolProxiedConnection) -> bool:
        """Return whether COMMIT can go in one message with other statements.

        If the server has ended the session meanwhile, it has said so or closed the connection. To
        send all in one message would leave the outcome unknown then.
        """
        return False

    def may_end_with_writes(self, pooled: PoolProxiedConnection) -> bool:
        """Return whether COMMIT can go in one message with writes whose answers nobody needs.

        The server has answered in this transaction already.
        """
        return False


def executed(cursor: Any, call: Call) -> object:
    """Send a statement by a cursor of the driver's own; return the cursor."""
    text, values, many = call
    if many:
        cursor.executemany(text, values)
    else:
        cursor.execute(text, values)
    return cursor


def note_failed(error: BaseException, text: str, stopped: bool) -> None:
    """Note at an error which statement of a message failed.

    :param stopped: whether the last statement of the message surely wasn't run
    """
    setattr(error, _TEXT, text)
    setattr(error, _STOPPED, stopped)


def failed_statement(error: BaseException) -> tuple[str | None, bool]:
    """Return the statement of a message that failed, and whether the last surely wasn't run.

    The statement is None if it isn't known. The last one wasn't run if the server has said that an
    earlier one failed, even if the connection was lost afterwards.
    """
    return getattr(error, _TEXT, None), getattr(error, _STOPPED, False)
