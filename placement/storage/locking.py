"""The order in which rows are locked, and what for."""

import enum

import sqlalchemy as sa


class Hold(enum.Enum):
    """What a transaction locks a provider for, from the weakest lock to the strongest.

    On PostgreSQL, those that refer to a provider go along with one that changes what it has.
    MariaDB and MySQL know shared and exclusive locks only; there, those that refer to it go along
    with each other. A transaction takes the strongest lock that it needs at once: two that hold
    the same row and both want more wait for each other.
    """

    #: a row that refers to it is stored: it is neither deleted nor renamed nor put elsewhere
    REFERENCE = enum.auto()
    #: its generation moves, and with it what it has, or what is held of it
    CONTENT = enum.auto()
    #: it is deleted, renamed or put elsewhere, or who is in its tree changes
    PLACE = enum.auto()


def locking(statement: sa.Select, hold: Hold) -> sa.Select:
    """The statement, which locks the rows that it finds, and waits for those that others hold."""
    return statement.with_for_update(read=hold is Hold.REFERENCE, key_share=hold is not Hold.PLACE)


def by_primary_key(statement: sa.Select, table: sa.Table) -> sa.Select:
    """Have MariaDB and MySQL look the table's rows up by id, and so lock them in that order.

    They lock each row that they look at, in the order of the index they choose, and sort later;
    without an index they look at all rows and wait for those that others hold. PostgreSQL sorts
    first and locks what it found; SQLite has a single lock.
    """
    hint = "FORCE INDEX (PRIMARY)"
    return statement.with_hint(table, hint, "mysql").with_hint(table, hint, "mariadb")
