"""Whether an instance's NUMA cells fit a host's (compute.md §4.11).

A host's topology is what its driver reports, as JSON: `{"cells": [{"id", "cpus", "memory_mb"}]}`.
An instance's is `{"cells": [{"vcpus", "memory_mb"}]}`; once placed, each cell has the `id` of its
host cell. Every cell of an instance needs a host cell of its own.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Topology = Mapping[str, Any]
Cell = Mapping[str, Any]


def fit(
    host: str | None,
    taken: Iterable[Topology],
    wanted: Topology,
    cpu_ratio: float = 1.0,
    memory_ratio: float = 1.0,
) -> dict[str, Any] | None:
    """Return `wanted` with a host cell for each of its cells, or None if they don't fit.

    :param host: the host's topology as its record has it; one without cells fits anything
    :param taken: the placed topologies of the instances that are there
    """
    cells = json.loads(host)["cells"] if host else []
    if not cells:
        return dict(wanted)
    free = {
        cell["id"]: [len(cell["cpus"]) * cpu_ratio, cell["memory_mb"] * memory_ratio]
        for cell in cells
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
