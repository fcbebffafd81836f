"""Names as the database compares them.

For SQLite and PostgreSQL, `a` and `A` differ. For MySQL's usual collations, `a` equals `A`, `e`
equals `é`, and a space at the end doesn't count. Only the database knows which names are equal
(rest-api.md 6.4).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite

from placement.storage.dialects import MYSQL
from placement.storage.engine import Connection
from placement.storage.list_parameters import parts

#: more parts of a UNION would exceed MySQL's stack for a statement
_SELECTS_PER_STATEMENT = 200


def insert_missing(
    connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, object]]
) -> None:
    """Store the rows whose unique key doesn't exist; other writers may add it concurrently.

    Sort the rows by their key: writers that insert the same rows then wait for each other in the
    same order.
    """
    if not rows:
        return
    statement: sa.Insert
    if connection.dialect.name in MYSQL:
        # unlike INSERT IGNORE, this still refuses values that are too long
        statement = mysql.insert(table).on_duplicate_key_update(id=table.c.id)
    elif connection.dialect.name == "postgresql":
        statement = postgresql.insert(table).on_conflict_do_nothing()
    else:
        statement = sqlite.insert(table).on_conflict_do_nothing()
    connection.execute(statement, list(rows))


def spelled_otherwise(
    connection: Connection, column: sa.Column, wanted: Collection[str], stored: Collection[str]
) -> dict[str, int]:
    """Return the ids of rows that are stored under another spelling, by the wanted names.

    Call it for names that a look-up didn't find under that very spelling. On MySQL it sends one
    statement for some hundred names that may have another spelling; on other databases none.

    :param stored: the names of all rows that the look-up found, including other spellings: MySQL
        compares the names of a list in the same way
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
    """Return the wanted names that may equal a stored name; the database must decide.

    Printable ASCII characters may equal their other case, and spaces at the end may not count.
    Which names with other characters are equal isn't known here.
    """
    if not stored:
        return []
    if not all(map(_usual, stored)):
        return list(wanted)
    known = {name.rstrip().lower() for name in stored}
    return [name for name in wanted if not _usual(name) or name.rstrip().lower() in known]


def _usual(name: str) -> bool:
    return name.isascii() and name.isprintable()
