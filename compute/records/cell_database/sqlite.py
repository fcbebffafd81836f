"""The cell database in an SQLite file of the state path."""

import contextlib
import dataclasses
import functools
import json
import os
import sqlite3
import threading
import time
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Generic

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite as SQLiteDialect
from sqlalchemy.exc import DatabaseError, DBAPIError, IntegrityError, OperationalError
from sqlalchemy.pool import StaticPool

from compute.exceptions import InvalidConfiguration
from compute.records.aggregate import Aggregate, HostMapping
from compute.records.cell_database import schema, tables
from compute.records.cell_database.reading import read_only_uri
from compute.records.cell_database.repositories import (
    Aggregates,
    ComputeNodes,
    HostMappings,
    Instances,
    Migrations,
    OwnAllocations,
    ServiceRecords,
)
from compute.records.cell_database.store import DuplicateRecord, R
from compute.records.compute_node import ComputeNode
from compute.records.instance import Instance
from compute.records.migration import Migration
from compute.records.own_allocation import OwnAllocation
from compute.records.service import Service

FILE_NAME = "berth-compute.db"
DETAILS = "details"


@functools.cache
def _converters(table: sa.Table) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """Return the functions that convert values of columns to the file, and from it, by name."""
    dialect = SQLiteDialect()
    types = {column.name: column.type.dialect_impl(dialect) for column in table.columns}
    to_file = {name: type_.bind_processor(dialect) for name, type_ in types.items()}
    return to_file, [(name, type_.result_processor(dialect, None)) for name, type_ in types.items()]


class SQLStore(Generic[R]):
    """A Store in one table. Fields without a column are kept in the column `details`."""

    def __init__(self, engine: sa.Engine, table: sa.Table, record_class: Any) -> None:
        self._engine = engine
        self._table = table
        self._record_class = record_class
        fields = {f.name for f in dataclasses.fields(self._record_class)}
        self._columns = [c.name for c in table.columns if c.name in fields]
        self._details = sorted(fields - set(self._columns))
        names = [column.name for column in table.columns]
        self._written = [name for name in names if name != "id"]
        # The statements are text: a service runs each a few times in its life, most of them while
        # it starts, and to compile a statement takes many times as long as to run it.
        marks = ", ".join("?" * len(self._written))
        assigned = ", ".join(f"{name} = ?" for name in self._written)
        self._insert = f"INSERT INTO {table.name} ({', '.join(self._written)}) VALUES ({marks})"  # noqa: S608
        self._update = f"UPDATE {table.name} SET {assigned} WHERE id = ?"  # noqa: S608
        self._select = f"SELECT {', '.join(names)} FROM {table.name}"  # noqa: S608
        self._to_file, self._from_file = _converters(table)

    def add(self, record: Any, what: str) -> None:
        try:
            with self._engine.begin() as connection:
                result = connection.exec_driver_sql(self._insert, self._row(record))
        except IntegrityError as error:
            raise DuplicateRecord(what=what) from error
        record.id = result.lastrowid

    def put(self, record: Any, what: str) -> bool:
        try:
            with self._engine.begin() as connection:
                result = connection.exec_driver_sql(self._update, (*self._row(record), record.id))
        except IntegrityError as error:
            raise DuplicateRecord(what=what) from error
        return result.rowcount == 1

    def change(
        self, record_id: int | None, expected: Mapping[str, object], **changes: object
    ) -> bool:
        if "updated_at" in self._columns:
            changes["updated_at"] = time.time()
        wanted = self._wanted({"id": record_id, **expected})
        with self._engine.begin() as connection:
            result = connection.execute(self._table.update().where(wanted).values(changes))
        return result.rowcount == 1

    def remove(self, record_id: int | None) -> bool:
        delete = self._table.delete().where(self._table.c.id == record_id)
        with self._engine.begin() as connection:
            return connection.execute(delete).rowcount == 1

    def has_any(self) -> bool:
        with self._engine.connect() as connection:
            return connection.execute(sa.select(self._table.c.id).limit(1)).first() is not None

    def find(self, **wanted: object) -> list[R]:
        query, values = self._query(wanted)
        try:
            with self._engine.connect() as connection:
                rows = connection.exec_driver_sql(query, values).all()
            return [self._record(self._values(row)) for row in rows]
        except OperationalError:
            # The file may be locked: a later try can succeed.
            raise
        except (DatabaseError, ValueError, TypeError, AttributeError) as error:
            raise InvalidConfiguration(
                f"The compute node records in {self._engine.url.database} are damaged: table "
                f"{self._table.name}: {getattr(error, 'orig', error)}"
            ) from error

    def _query(self, wanted: Mapping[str, object]) -> tuple[str, tuple[object, ...]]:
        """Return the statement that finds the records, and its parameters.

        A list is one parameter, whatever its length: SQLite takes 32,766 in some builds.
        """
        conditions, values = [], []
        for name, value in wanted.items():
            if isinstance(value, list):
                conditions.append(f"{name} IN (SELECT value FROM json_each(?))")  # noqa: S608
                values.append(json.dumps([self._bound(name, one) for one in value]))
            else:
                conditions.append(f"{name} IS ?")
                values.append(self._bound(name, value))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"{self._select}{where} ORDER BY id", tuple(values)

    def _bound(self, name: str, value: object) -> Any:
        """Return a column's value as the file has it."""
        process = self._to_file[name]
        return value if process is None else process(value)

    def _values(self, row: Sequence[object]) -> dict[str, object]:
        return {
            name: value if process is None else process(value)
            for (name, process), value in zip(self._from_file, row, strict=True)
        }

    def _wanted(self, wanted: Mapping[str, object]) -> sa.ColumnElement[bool]:
        return sa.and_(
            sa.true(),
            *(
                self._table.c[name].in_(value)
                if isinstance(value, list)
                else self._table.c[name] == value
                for name, value in wanted.items()
            ),
        )

    def _row(self, record: Any) -> tuple[object, ...]:
        if "updated_at" in self._columns:
            record.updated_at = time.time()
        fields = dataclasses.asdict(record)
        row = {name: fields[name] for name in self._columns if name != "id"}
        if DETAILS in self._table.c:
            row[DETAILS] = {name: fields[name] for name in self._details}
        return tuple(self._bound(name, row[name]) for name in self._written)

    def _record(self, row: Any) -> R:
        details = row[DETAILS] if DETAILS in self._table.c else {}
        kept = {name: value for name, value in details.items() if name in self._details}
        return self._record_class(**{name: row[name] for name in self._columns}, **kept)


class SQLiteCellDatabase:
    """A cell database in one SQLite file; a missing file is made.

    :param read_only: the file is there, and neither it nor any file beside it is changed
    """

    def __init__(self, path: str, read_only: bool = False) -> None:
        self._engine = engine = _reading_engine(path) if read_only else _engine(path)
        self.compute_nodes = ComputeNodes(SQLStore(engine, tables.compute_nodes, ComputeNode))
        self.services = ServiceRecords(SQLStore(engine, tables.services, Service))
        self.instances = Instances(SQLStore(engine, tables.instances, Instance))
        self.migrations = Migrations(SQLStore(engine, tables.migrations, Migration))
        self.aggregates = Aggregates(SQLStore(engine, tables.aggregates, Aggregate))
        self.host_mappings = HostMappings(SQLStore(engine, tables.host_mappings, HostMapping))
        self.own_allocations = OwnAllocations(
            SQLStore(engine, tables.own_allocations, OwnAllocation)
        )
        # This connection never writes: data_version counts the changes of other connections.
        self._watching = _connected(path, read_only)
        self._watching_lock = threading.Lock()

    def mark(self) -> Hashable:
        """See CellDatabase."""
        with self._watching_lock:
            return self._watching.execute("PRAGMA data_version").fetchone()[0]

    def close(self) -> None:
        """Close the file."""
        self._watching.close()
        self._engine.dispose()


def _engine(path: str) -> sa.Engine:
    engine = sa.create_engine(f"sqlite:///{path}")
    sa.event.listen(engine, "connect", _settings)
    try:
        schema.sync(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _reading_engine(path: str) -> sa.Engine:
    """Return an engine that only reads the file; for an older schema one of an upgraded copy."""
    url = f"sqlite:///{path}"
    engine = sa.create_engine(url, creator=lambda: _connected(path, read_only=True))
    is_readable = False
    try:
        is_readable = schema.is_readable(engine)
    finally:
        if not is_readable:
            engine.dispose()
    if is_readable:
        return engine
    copy = sqlite3.connect(":memory:", check_same_thread=False)
    with contextlib.closing(_connected(path, read_only=True)) as original:
        original.backup(copy)
    engine = sa.create_engine(url, creator=lambda: copy, poolclass=StaticPool)
    schema.sync(engine)
    return engine


def _connected(path: str, read_only: bool) -> sqlite3.Connection:
    if not read_only:
        return sqlite3.connect(path, check_same_thread=False)
    return sqlite3.connect(read_only_uri(path), uri=True, check_same_thread=False)


def _settings(connection: sqlite3.Connection, _record: object) -> None:
    # WAL: readers don't wait for a writer. NORMAL: a power failure may lose the last write, which
    # the next periodic update repeats.
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA busy_timeout=30000")


def open_in(state_path: str, read_only: bool = False) -> SQLiteCellDatabase:
    """Open the cell database of a state path, making directory and file when missing.

    :param read_only: the file is there; leave it, and the files beside it, as they are

    Raises InvalidConfiguration if that can't be done.
    """
    path = os.path.join(state_path, FILE_NAME)
    try:
        if not read_only:
            os.makedirs(state_path, exist_ok=True)
        return SQLiteCellDatabase(path, read_only)
    except (OSError, DBAPIError, sqlite3.Error) as error:
        reason: object = error
        if isinstance(error, OSError):
            reason = error.strerror
        elif isinstance(error, DBAPIError):
            reason = error.orig
        if _is_damaged(reason):
            raise InvalidConfiguration(
                f"The compute node records in {path} are damaged: {reason}. Restore the file."
            ) from error
        if read_only:
            raise InvalidConfiguration(
                f"The compute node records in {path} can't be read: {reason}."
            ) from error
        raise InvalidConfiguration(
            f"The compute node records can't be kept in {path}: {reason}. "
            "Set state_path to a directory this service may write to."
        ) from error


def _is_damaged(reason: object) -> bool:
    """Say whether SQLite finds something else in the file than a database of its own."""
    is_refused = isinstance(reason, sqlite3.OperationalError)
    return isinstance(reason, sqlite3.DatabaseError) and not is_refused
