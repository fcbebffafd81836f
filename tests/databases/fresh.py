"""Fresh databases on a server, each with the schema of a service that has just started.

A database is copied from a template, because it would take longer to create the schema for each
test.
"""

import abc
import contextlib
import itertools
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import schema_upgrade
from tests import running_services
from tests.databases.keeper import only_one
from tests.databases.servers import MariaDB, PostgreSQL

TEMPLATE = "berth_template"

#: writes into the empty database of a URL what copies of it are to have
Content = Callable[[str], object]


def _standard(url: str) -> None:
    """Write the schema and the standard names."""
    with contextlib.closing(Database(DatabaseSettings(url))) as database:
        schema_upgrade.sync(database)
        schema_upgrade.sync_standard_names(database)


def _template(content: Content) -> str:
    """Return the name of the template with a content; others may have one called the same."""
    if content is _standard:
        return TEMPLATE
    return f"{TEMPLATE}_{content.__name__}_{zlib.crc32(content.__module__.encode())}"


class Databases(abc.ABC):
    """Makes databases of one kind."""

    #: no two databases of a process have the same name, whoever made them
    _numbers: ClassVar = itertools.count(1)

    @contextlib.contextmanager
    def lent(self) -> Iterator[Callable[..., str]]:
        """Yield a function that makes databases and returns their URLs; remove them at the end.

        A database has the schema and the standard names, or a content of which the template is
        made at first, or nothing with `empty=True`. MariaDB ignores case unless `case_sensitive`
        is true; the other databases never do.
        """
        made: list[str] = []

        def new(
            empty: bool = False, case_sensitive: bool = False, content: Content = _standard
        ) -> str:
            made.append(f"test_{os.getpid()}_{next(self._numbers)}")
            return self._make(made[-1], None if empty else content, case_sensitive)

        try:
            yield new
        finally:
            for name in made:
                running_services.close_those_of(name)
                self._remove(name)

    @abc.abstractmethod
    def _make(self, name: str, content: Content | None, case_sensitive: bool) -> str:
        """Make the database, without a content if it is None, and return its URL."""

    @abc.abstractmethod
    def _remove(self, name: str) -> None:
        """Remove the database, even if it is in use."""


class SQLiteFiles(Databases):
    """Files in a folder that the caller removes."""

    #: the files of the templates, each made once in a process
    _files: ClassVar[dict[Content, bytes]] = {}

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _make(self, name: str, content: Content | None, case_sensitive: bool) -> str:
        file = self._folder / f"{name}.db"
        return f"sqlite:///{file}" if content is None else self.filled(file, content)

    @classmethod
    def filled(cls, file: Path, content: Content = _standard) -> str:
        """Write a database into a file, with the schema and the standard names; return its URL."""
        file.write_bytes(cls._template(content))
        return f"sqlite:///{file}"

    @classmethod
    def is_as_filled(cls, file: Path) -> bool:
        """Return whether nobody has written into a database since `filled` made it.

        While somebody has it open, what was written may be in its log alone.
        """
        is_open = file.with_name(f"{file.name}-wal").exists()
        return file.is_file() and not is_open and file.read_bytes() == cls._template(_standard)

    @classmethod
    def _template(cls, content: Content) -> bytes:
        if content not in cls._files:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "template.db"
                content(f"sqlite:///{file}")
                cls._files[content] = file.read_bytes()
        return cls._files[content]

    def _remove(self, name: str) -> None:
        """Do nothing: the caller removes the folder."""


class PostgreSQLCopies(Databases):
    """PostgreSQL databases; the server copies the files of the template."""

    def __init__(self, server: PostgreSQL) -> None:
        self._server = server
        self._administrator = server.connect()

    def _make(self, name: str, content: Content | None, case_sensitive: bool) -> str:
        if content is None:
            self._do(f"CREATE DATABASE {name}")
        else:
            self._prepare(content)
            self._do(f"CREATE DATABASE {name} TEMPLATE {_template(content)}{self._files()}")
        return self._server.url(name)

    def _files(self) -> str:
        """Since version 15, the server copies block by block, which takes three times as long."""
        return " STRATEGY file_copy" if self._administrator.info.server_version >= 150000 else ""

    def _prepare(self, content: Content) -> None:
        template = _template(content)
        found = "SELECT 1 FROM pg_database WHERE datname = %s AND datistemplate"
        if self._administrator.execute(found, [template]).fetchone():
            return
        with only_one(self._server.folder):
            if self._administrator.execute(found, [template]).fetchone():
                return
            self._do(f"CREATE DATABASE {template}")
            content(self._server.url(template))
            self._do(f"ALTER DATABASE {template} IS_TEMPLATE true")

    def _do(self, statement: str) -> None:
        self._administrator.execute(statement.encode())

    def _remove(self, name: str) -> None:
        self._do(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


class MariaDBCopies(Databases):
    """MariaDB databases; the tables of the template are created again and their rows copied."""

    def __init__(self, server: MariaDB) -> None:
        self._server = server
        self._administrator = server.connect()
        #: what makes a database's tables and fills them, by template
        self._statements: dict[str, list[str]] = {}

    def _make(self, name: str, content: Content | None, case_sensitive: bool) -> str:
        collation = "utf8mb4_bin" if case_sensitive else "utf8mb4_general_ci"
        with self._administrator.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} COLLATE {collation}")
            if content is not None:
                self._prepare(content)
                cursor.execute(f"USE {name}")
                cursor.execute("SET foreign_key_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
                for statement in self._statements[_template(content)]:
                    cursor.execute(statement)
                # a test may have closed all connections to its own database
                cursor.execute("USE mysql")
        return self._server.url(name)

    def _prepare(self, content: Content) -> None:
        template = _template(content)
        if template in self._statements:
            return
        statements = []
        with only_one(self._server.folder), self._administrator.cursor() as cursor:
            if not cursor.execute("SHOW DATABASES LIKE %s", [template]):
                cursor.execute(f"CREATE DATABASE {template}")
                content(self._server.url(template))
            cursor.execute(f"SHOW TABLES FROM {template}")
            for (table,) in cursor.fetchall():
                cursor.execute(f"SHOW CREATE TABLE {template}.{table}")
                # without the character set, so that the one of the new database applies
                definition = cursor.fetchone()[1]
                statements.append(re.sub(r" DEFAULT CHARSET=\w+ COLLATE=\w+", "", definition))
                # most tables are empty
                if cursor.execute(f"SELECT 1 FROM {template}.{table} LIMIT 1"):
                    statements.append(f"INSERT INTO {table} SELECT * FROM {template}.{table}")
        self._statements[template] = statements

    def _remove(self, name: str) -> None:
        with self._administrator.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {name}")
