"""The order in which rows are locked."""

import sqlalchemy as sa


def by_primary_key(statement: sa.Select, table: sa.Table) -> sa.Select:
    """Have MariaDB and MySQL look the table's rows up by id, and so lock them in that order.

    They lock each row that they look at, in the order of the index they choose, and sort later;
    without an index they look at all rows and wait for those that others hold. PostgreSQL sorts
    first and locks what it found; SQLite has a single lock.
    """
    hint = "FORCE INDEX (PRIMARY)"
    return statement.with_hint(table, hint, "mysql").with_hint(table, hint, "mariadb")
