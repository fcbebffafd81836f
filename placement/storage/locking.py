"""Row locks: their strength, and the order in which rows are locked."""

import enum

import sqlalchemy as sa

from placement.storage.database.compiled import RowLock


class Hold(enum.Enum):
    """Why a transaction locks a provider, from the weakest lock to the strongest.

    On PostgreSQL, transactions with REFERENCE and one transaction with CONTENT can hold the same
    provider at the same time. MariaDB and MySQL have shared and exclusive locks only: there,
    REFERENCE is compatible with REFERENCE alone. A transaction takes the strongest lock that it
    needs first: two transactions that hold a row and both need a stronger lock are a deadlock.
    """

    #: a row that refers to the provider is stored, so it must not be deleted, renamed or moved
    REFERENCE = enum.auto()
    #: the provider's generation changes, and with it its properties or its usage
    CONTENT = enum.auto()
    #: the provider is deleted, renamed or moved, or the providers of its tree change
    PLACE = enum.auto()


def locking(statement: sa.Select, hold: Hold, wait: bool = True) -> sa.Select:
    """Make the statement lock the rows that it finds.

    :param wait: whether it waits for rows that others have locked; if not, it leaves them out
    """
    return statement.with_for_update(
        read=hold is Hold.REFERENCE, key_share=hold is not Hold.PLACE, skip_locked=not wait
    )


def row_lock(rows: sa.Select, table: sa.Table, hold: Hold) -> RowLock:
    """Return what a statement waits for that locks these rows of a table."""
    return RowLock(
        rows, table, table.c.uuid, read=hold is Hold.REFERENCE, key_share=hold is not Hold.PLACE
    )


def by_primary_key(statement: sa.Select, table: sa.Table) -> sa.Select:
    """Make MariaDB and MySQL look up the table's rows by id, so that they lock in that order.

    They lock each row that they read, in the order of the index that they choose, and sort
    afterwards. Without an index they read all rows, and wait for those that others have locked.
    PostgreSQL sorts first and locks the rows that it found. SQLite has a single lock.
    """
    hint = "FORCE INDEX (PRIMARY)"
    return statement.with_hint(table, hint, "mysql").with_hint(table, hint, "mariadb")
