"""The cell database: what compute services remember, behind getters with nova's questions.

Two kinds: `memory` for tests and commands that must leave no trace, `sqlite` for the agent. The
questions are those of `families`; a kind only has to keep records (`store`). compute.md §4.1.
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
    Services,
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
    "Services",
]


class CellDatabase(Protocol):
    """The record families, one attribute each."""

    compute_nodes: ComputeNodes
    services: Services
    instances: Instances
    migrations: Migrations
    aggregates: Aggregates
    host_mappings: HostMappings
    own_allocations: OwnAllocations

    def mark(self) -> Hashable:
        """Return something that is another after any change, whoever made it.

        Cheaper than any question: while it stays the same, so do all the answers.
        """
