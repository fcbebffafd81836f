"""Whether an instance's NUMA cells fit a host's (compute.md §4.11).

A host's topology is what its driver reports, as JSON: `{"cells": [{"id", "cpus", "memory_mb"}]}`.
An instance's is `{"cells": [{"vcpus", "memory_mb"}]}`; once placed, each cell has the `id` of its
host cell. Every cell of an instance needs a host cell of its own.
"""

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Topology = Mapping[str, Any]
Cell = Mapping[str, Any]

# How many sets of host cells are tried for an instance with devices.
_SETS = 1000


@dataclass(frozen=True)
class CellSet:
    """Host cells that an instance may be placed on, one for each of its own.

    :param sockets: host cell → its socket, where the host says so
    """

    cells: frozenset[int]
    sockets: Mapping[int, int]

    def has_near(self, device_cell: int | None, policy: str) -> bool:
        """Say whether a device is near enough: `legacy`, `required`, `socket` or `preferred`.

        With `legacy`, nova's default, a device of which nobody knows the cell is.
        """
        if policy == "preferred" or device_cell is None:
            return policy in ("preferred", "legacy")
        if device_cell in self.cells:
            return True
        socket = self.sockets.get(device_cell)
        near = socket is not None and socket in {self.sockets.get(cell) for cell in self.cells}
        return policy == "socket" and near


def cell_sets(
    host: str | None,
    taken: Iterable[Topology],
    wanted: Topology,
    cpu_ratio: float = 1.0,
    memory_ratio: float = 1.0,
    within: Collection[int] | None = None,
) -> Iterator[CellSet]:
    """Yield the sets of host cells that `wanted` fits on, the first cells first.

    :param within: the host cells that may be used; None: all

    There are none on a host without cells, and at most 1000 are tried.
    """
    cells = json.loads(host)["cells"] if host else []
    sockets = {cell["id"]: cell["socket"] for cell in cells if cell.get("socket") is not None}
    placed = list(taken)
    usable = [cell["id"] for cell in cells if within is None or cell["id"] in within]
    combinations = itertools.combinations(usable, len(wanted["cells"]))
    for chosen in itertools.islice(combinations, _SETS):
        if fit(host, placed, wanted, cpu_ratio, memory_ratio, within=chosen) is not None:
            yield CellSet(frozenset(chosen), sockets)


def fit(
    host: str | None,
    taken: Iterable[Topology],
    wanted: Topology,
    cpu_ratio: float = 1.0,
    memory_ratio: float = 1.0,
    within: Collection[int] | None = None,
) -> dict[str, object] | None:
    """Return `wanted` with a host cell for each of its cells, or None if they don't fit.

    :param host: the host's topology as its record has it; one without cells fits anything
    :param taken: the placed topologies of the instances that are there
    :param within: the host cells that may be used; None: all
    """
    cells = json.loads(host)["cells"] if host else []
    if not cells:
        return dict(wanted)
    free = {
        cell["id"]: [len(cell["cpus"]) * cpu_ratio, cell["memory_mb"] * memory_ratio]
        for cell in cells
        if within is None or cell["id"] in within
    }
    for topology in taken:
        for cell in topology["cells"]:
            if cell.get("id") in free:
                free[cell["id"]][0] -= cell["vcpus"]
                free[cell["id"]][1] -= cell["memory_mb"]
    places = _place(wanted["cells"], free)
    if places is None:
        return None
    placed = [{**cell, "id": place} for cell, place in zip(wanted["cells"], places, strict=True)]
    return {**wanted, "cells": placed}


def _place(cells: Sequence[Cell], free: Mapping[int, Sequence[float]]) -> list[int] | None:
    """Find a host cell for each of `cells`: the first ones that leave room for the rest."""
    options = [
        [
            cell_id
            for cell_id, (vcpus, memory) in free.items()
            if cell["vcpus"] <= vcpus and cell["memory_mb"] <= memory
        ]
        for cell in cells
    ]
    for number, possible in enumerate(options):
        for cell_id in possible:
            options[number] = [cell_id]
            if _have_one_each(options):
                break
        else:
            return None
    return [cell_id for (cell_id,) in options]


def _have_one_each(options: Sequence[Sequence[int]]) -> bool:
    """Say whether everyone can have an option that nobody else has (a bipartite matching)."""
    owners: dict[int, int] = {}

    def find(who: int, asked: set[int]) -> bool:
        for option in options[who]:
            if option not in asked:
                asked.add(option)
                if option not in owners or find(owners[option], asked):
                    owners[option] = who
                    return True
        return False

    return all(find(who, set()) for who in range(len(options)))
