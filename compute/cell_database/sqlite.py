"""The cell database in an SQLite file of the state path.

What is searched by has a column; the rest of a record is one JSON object, so that a record may
gain a field without a migration of a file that lives on each compute host.
"""

import dataclasses
import os
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError

from compute.cell_database import DuplicateRecord
from compute.compute_node import ComputeNode
from compute.exceptions import ComputeHostNotFound, InvalidConfiguration, ObjectActionError
from compute.service_record import Service

FILE_NAME = "berth-compute.db"

_metadata = sa.MetaData()

_nodes = sa.Table(
    "compute_nodes",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("uuid", sa.String(36), nullable=False, unique=True),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("hypervisor_hostname", sa.String(255), nullable=False),
    sa.Column("deleted", sa.Boolean, nullable=False, default=False),
    sa.Column("updated_at", sa.Float, nullable=False),
    sa.Column("details", sa.JSON, nullable=False),
)
# A name is free again once its record is deleted.
sa.Index(
    "uniq_compute_nodes_host_node",
    _nodes.c.host,
    _nodes.c.hypervisor_hostname,
    unique=True,
    sqlite_where=_nodes.c.deleted.is_(False),
)

_services = sa.Table(
    "services",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("host", sa.String(255), nullable=False, unique=True),
    sa.Column("disabled", sa.Boolean, nullable=False, default=False),
    sa.Column("disabled_reason", sa.Text),
)

_COLUMNS = {column.name for column in _nodes.columns}
_DETAILS = [f.name for f in dataclasses.fields(ComputeNode) if f.name not in _COLUMNS]


class SQLiteComputeNodes:
    """See ComputeNodes."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def create(self, node: ComputeNode) -> None:
        try:
            with self._engine.begin() as connection:
                result = connection.execute(_nodes.insert().values(self._row(node)))
        except IntegrityError as error:
            raise DuplicateRecord(what=f"compute node {node.hypervisor_hostname}") from error
        node.id = result.lastrowid

    def save(self, node: ComputeNode) -> None:
        update = _nodes.update().where(_nodes.c.id == node.id).values(self._row(node))
        try:
            with self._engine.begin() as connection:
                result = connection.execute(update)
        except IntegrityError as error:
            raise DuplicateRecord(what=f"compute node {node.hypervisor_hostname}") from error
        if result.rowcount != 1:
            raise ComputeHostNotFound(host=node.host)

    def destroy(self, node: ComputeNode) -> None:
        still_ours = sa.and_(
            _nodes.c.id == node.id, _nodes.c.host == node.host, _nodes.c.deleted.is_(False)
        )
        with self._engine.begin() as connection:
            result = connection.execute(
                _nodes.update().where(still_ours).values(deleted=True, updated_at=time.time())
            )
        if result.rowcount != 1:
            raise ObjectActionError(action="destroy", reason="host changed")
        node.deleted = True

    def by_uuid(self, uuid: str, include_deleted: bool = False) -> ComputeNode | None:
        wanted = _nodes.c.uuid == uuid
        return self._first(wanted if include_deleted else wanted & _nodes.c.deleted.is_(False))

    def by_host(self, host: str) -> list[ComputeNode]:
        return self._all((_nodes.c.host == host) & _nodes.c.deleted.is_(False))

    def by_host_and_node(self, host: str, nodename: str) -> ComputeNode | None:
        return self._first(
            (_nodes.c.host == host)
            & (_nodes.c.hypervisor_hostname == nodename)
            & _nodes.c.deleted.is_(False)
        )

    def by_node(self, nodename: str) -> ComputeNode | None:
        return self._first((_nodes.c.hypervisor_hostname == nodename) & _nodes.c.deleted.is_(False))

    def _first(self, wanted: sa.ColumnElement[bool]) -> ComputeNode | None:
        return next(iter(self._all(wanted)), None)

    def _all(self, wanted: sa.ColumnElement[bool]) -> list[ComputeNode]:
        with self._engine.connect() as connection:
            rows = connection.execute(_nodes.select().where(wanted).order_by(_nodes.c.id)).all()
        return [self._record(row._mapping) for row in rows]

    @staticmethod
    def _row(node: ComputeNode) -> dict[str, Any]:
        node.updated_at = time.time()
        row = {name: getattr(node, name) for name in _COLUMNS - {"id", "details"}}
        row["details"] = {name: getattr(node, name) for name in _DETAILS}
        return row

    @staticmethod
    def _record(row: Any) -> ComputeNode:
        kept = {name: value for name, value in row["details"].items() if name in _DETAILS}
        return ComputeNode(**{name: row[name] for name in _COLUMNS - {"details"}}, **kept)


class SQLiteServices:
    """See Services."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def create(self, service: Service) -> None:
        try:
            with self._engine.begin() as connection:
                result = connection.execute(_services.insert().values(self._row(service)))
        except IntegrityError as error:
            raise DuplicateRecord(what=f"compute service {service.host}") from error
        service.id = result.lastrowid

    def save(self, service: Service) -> None:
        with self._engine.begin() as connection:
            result = connection.execute(
                _services.update().where(_services.c.id == service.id).values(self._row(service))
            )
        if result.rowcount != 1:
            raise ComputeHostNotFound(host=service.host)

    def by_host(self, host: str) -> Service | None:
        with self._engine.connect() as connection:
            row = connection.execute(_services.select().where(_services.c.host == host)).first()
        return Service(**row._mapping) if row else None

    @staticmethod
    def _row(service: Service) -> dict[str, Any]:
        row = dataclasses.asdict(service)
        del row["id"]
        return row


class SQLiteCellDatabase:
    """A cell kept in one SQLite file, made when it is missing."""

    def __init__(self, path: str) -> None:
        self._engine = sa.create_engine(f"sqlite:///{path}")
        _metadata.create_all(self._engine)
        self.compute_nodes = SQLiteComputeNodes(self._engine)
        self.services = SQLiteServices(self._engine)

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()


def open_in(state_path: str) -> SQLiteCellDatabase:
    """Open the cell database of a state path, making directory and file when missing.

    Raises InvalidConfiguration if that can't be done.
    """
    path = os.path.join(state_path, FILE_NAME)
    try:
        os.makedirs(state_path, exist_ok=True)
        return SQLiteCellDatabase(path)
    except (OSError, DBAPIError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.orig
        raise InvalidConfiguration(
            f"The compute node records can't be kept in {path}: {reason}. "
            "Set state_path to a directory this service may write to."
        ) from error
