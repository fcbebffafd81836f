"""Statements of PostgreSQL that may be put off, because they fail where their answer is needed.

A statement whose answer decides what comes next can't go in one message with the end of the
transaction. If the answer is nearly always the same, the transaction assumes that: the statement
itself fails otherwise. Then nothing is stored, and the operation is run again, this time waiting
for the answer (`Connection.assumes`).
"""

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from placement.storage.driver.dialects import is_not_storable

#: begins the text that administrators find in the server's log
_MARK = "berth assumed that "


def fails_unless(condition: sa.ColumnElement[bool], assumption: str) -> sa.ColumnElement[int]:
    """Return what is 1 if the condition holds, and else fails with a text that says what it does.

    :param assumption: words without quotation marks
    """
    text = f"{_MARK}{assumption}; it tries again without"
    # PostgreSQL would try to read a constant that isn't one of several when it plans the statement
    one: sa.ColumnElement[str] = sa.literal_column("'1'")
    failure: sa.ColumnElement[str] = sa.literal_column(f"'{text}'")
    return sa.cast(sa.case((condition, one), else_=failure), sa.Integer)


def may_be_wrong(error: Exception) -> bool:
    """Return whether a message with assumptions failed as it does if one of them is wrong.

    That is an error of `fails_unless`, or a value that the server can't read: the usual way finds
    out whether it needs to.
    """
    return isinstance(error, DBAPIError) and is_not_storable(error)
