"""Fresh databases on a server, each with the schema of a service that has just started.

A service brings its database up to date itself; starting from a copy of one that is spares each
test the work.
"""

import abc
import contextlib
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

from placement.storage import schema
from placement.storage.engine import Database, DatabaseSettings
from tests.databases.keeper import only_one
from tests.databases.servers import MariaDB, PostgreSQL

TEMPLATE = "berth_template"


class Databases(abc.ABC):
    """Makes databases of one kind; `close` removes them."""

    @abc.abstractmethod
    def new(self, empty: bool = False, case_sensitive: bool = False) -> str:
        """The URL of a new database, without any table if `empty`.

        MariaDB takes `a` for `A` unless told to be `case_sensitive`; the others never do.
        """

    def close(self) -> None:
        """Remove what `new` made."""


class SQLiteFiles(Databases):
    """Files in a folder that somebody else removes. They start empty, a file costs little."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)

    def new(self, empty: bool = False, case_sensitive: bool = False) -> str:
        return f"sqlite:///{self._folder}/placement-{next(self._numbers)}.db"


class PostgreSQLCopies(Databases):
    """The server copies the template's files."""

    def __init__(self, server: PostgreSQL) -> None:
        self._server = server
        self._administrator = server.connect()
        self._made: list[str] = []
        self._numbers = itertools.count(1)

    def new(self, empty: bool = False, case_sensitive: bool = False) -> str:
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        if empty:
            self._do(f"CREATE DATABASE {name}")
        else:
            self._prepare()
            self._do(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        self._made.append(name)
        return self._server.url(name)

    def _prepare(self) -> None:
        found = "SELECT 1 FROM pg_database WHERE datname = %s AND datistemplate"
        if self._administrator.execute(found, [TEMPLATE]).fetchone():
            return
        with only_one(self._server.folder):
            if self._administrator.execute(found, [TEMPLATE]).fetchone():
                return
            self._do(f"CREATE DATABASE {TEMPLATE}")
            _fill(self._server.url(TEMPLATE))
            self._do(f"ALTER DATABASE {TEMPLATE} IS_TEMPLATE true")

    def _do(self, statement: str) -> None:
        self._administrator.execute(statement.encode())

    def close(self) -> None:
        while self._made:
            self._do(f"DROP DATABASE {self._made.pop()} WITH (FORCE)")


class MariaDBCopies(Databases):
    """The template's tables are made again, and its rows copied."""

    def __init__(self, server: MariaDB) -> None:
        self._server = server
        self._administrator = server.connect()
        self._made: list[str] = []
        self._numbers = itertools.count(1)
        self._tables: dict[str, str] = {}

    def new(self, empty: bool = False, case_sensitive: bool = False) -> str:
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        with self._administrator.cursor() as cursor:
            collation = "utf8mb4_bin" if case_sensitive else "utf8mb4_general_ci"
            cursor.execute(f"CREATE DATABASE {name} COLLATE {collation}")
            self._made.append(name)
            if not empty:
                self._prepare()
                cursor.execute(f"USE {name}")
                cursor.execute("SET foreign_key_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
                for table, definition in self._tables.items():
                    cursor.execute(definition)
                    cursor.execute(f"INSERT INTO {table} SELECT * FROM {TEMPLATE}.{table}")
        return self._server.url(name)

    def _prepare(self) -> None:
        if self._tables:
            return
        with only_one(self._server.folder), self._administrator.cursor() as cursor:
            if not cursor.execute("SHOW DATABASES LIKE %s", [TEMPLATE]):
                cursor.execute(f"CREATE DATABASE {TEMPLATE}")
                _fill(self._server.url(TEMPLATE))
            cursor.execute(f"SHOW TABLES FROM {TEMPLATE}")
            for (table,) in cursor.fetchall():
                cursor.execute(f"SHOW CREATE TABLE {TEMPLATE}.{table}")
                # without the collation, so that the database's holds
                self._tables[table] = re.sub(
                    r" DEFAULT CHARSET=\w+ COLLATE=\w+", "", cursor.fetchone()[1]
                )

    def close(self) -> None:
        with self._administrator.cursor() as cursor:
            while self._made:
                cursor.execute(f"DROP DATABASE {self._made.pop()}")


def _fill(url: str) -> None:
    with contextlib.closing(Database(DatabaseSettings(url))) as database:
        schema.sync(database)
        schema.sync_standard_names(database)
