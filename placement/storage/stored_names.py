"""Names as the database compares them.

For SQLite and PostgreSQL, `a` and `A` differ. For MySQL's usual collations, `a` equals `A`, `e`
equals `é`, and a space at the end doesn't count. Only the database knows which names are equal
(rest-api.md 6.4).
"""

import collections
import importlib
from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa

from placement.storage.database.engine import Connection
from placement.storage.driver.dialects import MYSQL
from placement.storage.driver.list_parameters import parts

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
    is_mysql = connection.dialect.name in MYSQL
    # imported by name, because only the dialect of the database in use is needed
    kind = "mysql" if is_mysql else connection.dialect.name
    insert = importlib.import_module(f"sqlalchemy.dialects.{kind}").insert(table)
    statement: sa.Insert = (
        # unlike INSERT IGNORE, this still refuses values that are too long
        insert.on_duplicate_key_update(id=table.c.id)
        if is_mysql
        else insert.on_conflict_do_nothing()
    )
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


def repeated(connection: Connection, column: sa.Column, wanted: Sequence[str]) -> set[str]:
    """Return those wanted names that equal an earlier one as the column's values are compared.

    The names differ. On MySQL it sends a statement if some of them may be equal, for some hundred
    names together; on other databases none.
    """
    if connection.dialect.name not in MYSQL:
        return set()
    plain = collections.Counter(map(_plain, wanted))
    unusual = any(not _usual(name) for name in wanted)
    doubtful = [name for name in wanted if unusual or plain[_plain(name)] > 1]
    found: set[str] = set()
    for names in parts(doubtful, _SELECTS_PER_STATEMENT):
        if len(names) == 1:
            continue
        # a column of no row makes the database compare the names as it compares the column's values
        questions = [
            sa.select(column.label("name"), sa.literal(0).label("place")).where(sa.false())
        ]
        questions += [
            sa.select(sa.literal(name), sa.literal_column(str(place)))
            for place, name in enumerate(names)
        ]
        given = sa.union_all(*questions).subquery()
        rows = connection.execute(
            sa.select(sa.func.max(given.c.place)).group_by(given.c.name).having(sa.func.count() > 1)
        )
        found.update(names[place] for place in rows.scalars())
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
    known = {_plain(name) for name in stored}
    return [name for name in wanted if not _usual(name) or _plain(name) in known]


def _plain(name: str) -> str:
    return name.rstrip().lower()


def _usual(name: str) -> bool:
    return name.isascii() and name.isprintable()
