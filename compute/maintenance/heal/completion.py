"""Allocations with what an instance lacked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def completed(
    allocations: Mapping[str, Any], placed: Mapping[str, Any], missing: Iterable[str]
) -> dict[str, object]:
    """Return allocations in which some classes lie where they are placed now.

    :param placed: all that the instance should have, as far as there is room
    :param missing: the classes that it lacks. If processors are among them, all kinds of them are
        placed anew: after a change of the kind it has the other
    """
    anew = set(missing)
    if anew & {"VCPU", "PCPU"}:
        anew |= {"VCPU", "PCPU"}
    result: dict[str, Any] = {
        uuid: {"resources": {name: n for name, n in part["resources"].items() if name not in anew}}
        for uuid, part in allocations.items()
    }
    for uuid, part in placed.items():
        for name, amount in part["resources"].items():
            if name in anew:
                result.setdefault(uuid, {"resources": {}})["resources"][name] = amount
    return {uuid: part for uuid, part in result.items() if part["resources"]}
