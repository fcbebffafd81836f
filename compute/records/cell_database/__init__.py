"""The cell database: the records of compute services, with nova's queries (compute.md §4.1).

`memory` is for tests and for commands that must leave no trace, `sqlite` for the agent. The queries
are those of `repositories`, whatever kind of `store` keeps the records.
"""

from collections.abc import Hashable
from typing import Protocol

from compute.records.cell_database.repositories import (
    Aggregates,
    ComputeNodes,
    HostMappings,
    Instances,
    Migrations,
    OwnAllocations,
    ServiceRecords,
)
from compute.records.cell_database.store import DuplicateRecord

__all__ = [
    "Aggregates",
    "CellDatabase",
    "ComputeNodes",
    "DuplicateRecord",
    "HostMappings",
    "Instances",
    "Migrations",
    "OwnAllocations",
    "ServiceRecords",
]


class CellDatabase(Protocol):
    """One repository for each kind of record."""

    compute_nodes: ComputeNodes
    services: ServiceRecords
    instances: Instances
    migrations: Migrations
    aggregates: Aggregates
    host_mappings: HostMappings
    own_allocations: OwnAllocations

    def mark(self) -> Hashable:
        """Return a value that differs after any change, of whatever process.

        A mark is cheaper than a query. While it stays the same, every query has the same answer.
        """
