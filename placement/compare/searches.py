"""Compare answers of GET /allocation_candidates that may differ.

They may differ if the reference is known to be wrong (allocation-candidates.md 2.12), or if the
request has a limit, as any of the candidates may be returned. Bodies are JSON values with a defined
order, from :class:`~.answers.Reader`.
"""

import collections
import json
import re
from typing import Any
from urllib.parse import parse_qs

SEARCH = "/allocation_candidates"
Body = dict[str, Any]


def is_search(path: str) -> bool:
    """Return whether a GET request for this path, with its query, searches for candidates."""
    return path.partition("?")[0] == SEARCH


def limit_of(path: str) -> int | None:
    """Return the limit on candidates of a GET request for this path; None without one."""
    limits = parse_qs(path.partition("?")[2].replace(";", "&")).get("limit", [])
    if not is_search(path) or not limits or not limits[0].isdecimal():
        return None
    return int(limits[0])


def without_limit(path: str) -> str:
    """Return the path of a search without its limit."""
    path, _, query = path.partition("?")
    # not decoded, because it may contain placeholders
    parts = [part for part in re.split("[&;]", query) if part.partition("=")[0] != "limit"]
    return f"{path}?{'&'.join(parts)}"


def is_answer(body: object) -> bool:
    """Return whether a body is the answer of a search."""
    return isinstance(body, dict) and {"allocation_requests", "provider_summaries"} <= body.keys()


def limited(some: Body, everything: Body, limit: int) -> list[str]:
    """Return what is wrong with a choice of at most `limit` candidates from another answer."""
    lines = []
    count = min(limit, len(everything["allocation_requests"]))
    if len(some["allocation_requests"]) != count:
        lines.append(f"candidates: {len(some['allocation_requests'])} instead of {count}")
    lines += [f"not among all: {line}" for line in missing(some, everything)]
    shown = some["provider_summaries"]
    for used in sorted({name for one in some["allocation_requests"] for name in _providers(one)}):
        if used not in shown:
            lines.append(f"no summary of {used}")
    return lines


def missing(some: Body, others: Body, amounts: bool = True) -> list[str]:
    """Return what one answer has and the other lacks, a line each.

    :param amounts: whether amounts matter; if not, repeated candidates don't matter either
    """
    mine, yours = (
        collections.Counter(_readable(one, amounts) for one in body["allocation_requests"])
        for body in (some, others)
    )
    left = mine - yours if amounts else mine.keys() - yours.keys()
    lines = sorted(left)
    for name, summary in some["provider_summaries"].items():
        if others["provider_summaries"].get(name) != summary:
            lines.append(f"summary of {name}: {summary}")
    return lines


def _readable(candidate: Body, amounts: bool) -> str:
    if not amounts:
        taken = {name: sorted(resources) for name, resources in _providers(candidate).items()}
        candidate = {**candidate, "allocations": taken}
    return json.dumps(candidate, sort_keys=True)


def _providers(candidate: Body) -> dict[str, dict[str, int]]:
    """Return amounts by class by provider, from either form of a candidate."""
    allocations = candidate["allocations"]
    if isinstance(allocations, list):
        return {part["resource_provider"]["uuid"]: part["resources"] for part in allocations}
    return {name: part["resources"] for name, part in allocations.items()}
