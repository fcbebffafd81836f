"""Read and change the rows of the reference's tables."""

import contextlib

import sqlalchemy as sa

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.tables import REFERENCE_TABLES, reference_version

Rows = dict[str, list[tuple]]


def rows(url: str) -> Rows:
    """Return all rows of the reference's tables, by table."""
    found = {}
    with (
        contextlib.closing(Database(DatabaseSettings(url))) as database,
        database.engine.connect() as connection,
    ):
        for table in (*REFERENCE_TABLES, reference_version):
            answer = connection.execute(sa.text(f"SELECT * FROM {table.name}"))
            found[table.name] = sorted((tuple(row) for row in answer), key=repr)
    return found


def execute(url: str, *statements: str) -> None:
    """Change the database without either service noticing."""
    with (
        contextlib.closing(Database(DatabaseSettings(url))) as database,
        database.engine.begin() as connection,
    ):
        for statement in statements:
            connection.execute(sa.text(statement))
