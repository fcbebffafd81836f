"""What `nova-manage placement audit` says of each orphan."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from compute.cli.json_stream import JSONStream
from compute.maintenance.audit import Orphan


@contextlib.contextmanager
def told(
    as_json: bool, delete: bool, journal: Path | None, named: bool
) -> Iterator[Callable[[Orphan, bool], None]]:
    """Gives a function that tells of an orphan, and whether it is deleted.

    `delete` says whether that was asked for, `named` whether its provider was named; `journal` is
    where what is deleted is noted.
    """
    if not as_json:
        yield _Teller(journal, named)
        return
    opening = {"delete": delete, "journal": None if journal is None else str(journal)}
    with JSONStream(sys.stdout, opening, "allocations") as stream:
        yield lambda orphan, deleted: stream.add(_as_json(orphan, named, deleted))


class _Teller:
    """Prints each orphan, and the journal's name before the first that is deleted."""

    def __init__(self, journal: Path | None, named: bool) -> None:
        self._journal = journal
        self._named = named

    def __call__(self, orphan: Orphan, deleted: bool) -> None:
        if deleted and self._journal is not None:
            print(f"Journal of what is deleted: {self._journal}")
            self._journal = None
        print(described(orphan, self._named, deleted), flush=True)


def described(orphan: Orphan, named: bool, deleted: bool) -> str:
    """Two lines: what the consumer holds of which provider, and why that is no good."""
    what = f"llocations for consumer UUID {orphan.consumer} on Resource Provider {orphan.provider}"
    resources = json.dumps(orphan.resources, sort_keys=True)
    if deleted:
        first = f"Deleted a{what}: {resources}"
    elif orphan.deletable(named):
        first = f"A{what} can be deleted: {resources}"
    else:
        first = f"A{what} are left alone: {resources}"
    age = "unknown" if orphan.age is None else _duration(orphan.age)
    return (
        f"{first}\n  provider {orphan.provider_name}, kind {orphan.kind}, "
        f"type {orphan.consumer_type or 'unknown'}, host {orphan.host or 'unknown'}, "
        f"last change {age}: {orphan.verdict.reason}"
    )


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit} ago"
    return f"{int(seconds)} seconds ago"


def _as_json(orphan: Orphan, named: bool, deleted: bool) -> dict[str, Any]:
    return {
        "consumer": orphan.consumer,
        "resource_provider": orphan.provider,
        "resource_provider_name": orphan.provider_name,
        "resources": dict(orphan.resources),
        "kind": orphan.kind,
        "consumer_type": orphan.consumer_type,
        "host": orphan.host,
        "age": orphan.age,
        "verdict": orphan.verdict.kind,
        "reason": orphan.verdict.reason,
        "node_known": orphan.node_known,
        "deletable": orphan.deletable(named),
        "deleted": deleted,
    }
