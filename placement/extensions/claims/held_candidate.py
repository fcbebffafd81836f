"""Which candidate of a request a consumer holds, whatever is free now (extensions.md 4)."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Column
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.extensions.claims.choice import Choice, Chooser

#: amounts by class name, by provider uuid
Held = Mapping[str, Mapping[str, int]]


def held_candidate(
    snapshot: Snapshot, request: CandidateRequest, held: Held, budget: Budget
) -> Choice | None:
    """Return the candidate whose allocations are what is held; None if there is none.

    All conditions of the request are checked, but whether the amounts are free is not: they are
    taken already. If several candidates have these allocations, the result is always the same one
    as long as the providers don't change.

    Raise what a search raises.
    """
    if _sums(held) != request.demand:
        return None
    columns: dict[int, dict[int, int]] = {
        snapshot.names.class_ids.get(name, -1): {} for name in request.demand
    }
    for uuid, amounts in held.items():
        slot = snapshot.slot(uuid)
        if slot is None:
            return None
        for name, amount in amounts.items():
            columns[snapshot.names.class_ids[name]][slot] = amount
    # a cloud that has exactly what is held: the amounts add up, so any candidate takes all of it
    cloud = dataclasses.replace(
        snapshot,
        columns={key: _column(amounts) for key, amounts in columns.items()},
    )
    return Chooser.first(request).choose(cloud, budget)


def _sums(held: Held) -> dict[str, int]:
    sums: dict[str, int] = {}
    for amounts in held.values():
        for name, amount in amounts.items():
            sums[name] = sums.get(name, 0) + amount
    return sums


def _column(amounts: Mapping[int, int]) -> Column:
    slots = sorted(amounts)
    total = [amounts[slot] for slot in slots]
    ones, zeros = np.ones(len(slots)), np.zeros(len(slots))
    return Column.of(slots, [total, zeros, ones, total, ones, ones, zeros])
