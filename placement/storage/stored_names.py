"""Names as the database compares them.

SQLite and PostgreSQL tell `a` from `A`. MySQL's usual collations do not, nor `e` from `é`, nor a
name from the same with a space at its end; which names are one is its decision (rest-api.md 6.4).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite

from placement.storage.dialects import MYSQL
from placement.storage.engine import Connection
from placement.storage.list_parameters import parts

#: MySQL has a stack for each statement, which many parts of a UNION use up
_SELECTS_PER_STATEMENT = 200


def insert_missing(
    connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, object]]
) -> None:
    """Store rows, leaving alone those whose unique key is there, also by a writer just now.

    The rows should be sorted by their key: writers that insert the same ones then wait for each
    other in one order.
    """
    if not rows:
        return
    statement: sa.Insert
    if connection.dialect.name in MYSQL:
        # unlike INSERT IGNORE this still refuses values that don't fit
        statement = mysql.insert(table).on_duplicate_key_update(id=table.c.id)
    elif connection.dialect.name == "postgresql":
        statement = postgresql.insert(table).on_conflict_do_nothing()
    else:
        statement = sqlite.insert(table).on_conflict_do_nothing()
    connection.execute(statement, list(rows))


def spelled_otherwise(
    connection: Connection, column: sa.Column, wanted: Collection[str], stored: Collection[str]
) -> dict[str, int]:
    """The ids of rows that are stored under another spelling of the wanted names, by the latter.

    Ask for names that a look-up found no row of that very name for. On MySQL one statement for
    some hundred of those that may be another spelling; none where names have one spelling.

    :param stored: the names of the rows that the look-up found for all names together, which are
        those of other spellings, too: MySQL compares lists as it compares names
    """
    if not wanted or connection.dialect.name not in MYSQL:
        return {}
    found = {}
    for names in parts(_doubtful(wanted, stored), _SELECTS_PER_STATEMENT):
        questions = [
            sa.select(sa.literal_column(str(number)), column.table.c.id).where(column == name)
            for number, name in enumerate(names)
        ]
        rows = connection.execute(sa.union_all(*questions))
        found.update({names[number]: row_id for number, row_id in rows})
    return found


def _doubtful(wanted: Iterable[str], stored: Collection[str]) -> list[str]:
    """The wanted names that may be one of the stored to a database: it must be asked.

    Usual characters of ASCII differ in their case at most, and spaces at the end may not count.
    What any others are the same as isn't known here.
    """
    if not stored:
        return []
    if not all(map(_usual, stored)):
        return list(wanted)
    known = {name.rstrip().lower() for name in stored}
    return [name for name in wanted if not _usual(name) or name.rstrip().lower() in known]


def _usual(name: str) -> bool:
    return name.isascii() and name.isprintable()
