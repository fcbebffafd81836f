"""The cell database: what compute services remember, behind getters with nova's questions.

Everything handed out is a copy: change it and `save` it. "Not there" is None or an empty list.
Two implementations: `memory` for tests and commands that must leave no trace, `sqlite` for the
agent (compute.md §4.1).
"""

from typing import Protocol

from compute.compute_node import ComputeNode
from compute.exceptions import NovaException
from compute.service_record import Service


class DuplicateRecord(NovaException):
    """Another record has the same identity."""

    msg_fmt = "A record of %(what)s exists already."


class ComputeNodes(Protocol):
    """The compute node records of a cell, deleted ones included."""

    def create(self, node: ComputeNode) -> None:
        """Keep a new record and give it its `id`.

        Raises DuplicateRecord if the uuid is known (a deleted record counts), or if the host
        already has a node of that name.
        """

    def save(self, node: ComputeNode) -> None:
        """Keep the record as it is now.

        Raises ComputeHostNotFound if it was never created, DuplicateRecord as `create` does.
        """

    def destroy(self, node: ComputeNode) -> None:
        """Mark the record deleted.

        Raises ObjectActionError if it is deleted already or another host took it meanwhile.
        """

    def by_uuid(self, uuid: str, include_deleted: bool = False) -> ComputeNode | None:
        """Return the record with this uuid."""

    def by_host(self, host: str) -> list[ComputeNode]:
        """Return the records of a host, oldest first."""

    def by_host_and_node(self, host: str, nodename: str) -> ComputeNode | None:
        """Return the record of a host's node."""

    def by_node(self, nodename: str) -> ComputeNode | None:
        """Return the record of a node, whatever host it belongs to; the oldest if several do."""


class Services(Protocol):
    """The compute services of a cell."""

    def create(self, service: Service) -> None:
        """Keep a new record and give it its `id`. Raises DuplicateRecord if the host has one."""

    def save(self, service: Service) -> None:
        """Keep the record as it is now. Raises ComputeHostNotFound if it was never created."""

    def by_host(self, host: str) -> Service | None:
        """Return the service of a host."""


class CellDatabase(Protocol):
    """The record families, one attribute each."""

    @property
    def compute_nodes(self) -> ComputeNodes:
        """The compute node records."""

    @property
    def services(self) -> Services:
        """The service records."""
