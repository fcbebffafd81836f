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
    """Give a function that reports one orphan; its second argument says whether it was deleted.

    :param as_json: report one JSON object instead of lines of text
    :param delete: whether the operator asked for deletion
    :param journal: the file that records deleted allocations; None if nothing is deleted
    :param named: whether the operator named the provider
    """
    if not as_json:
        yield _Teller(journal, named)
        return
    opening = {"delete": delete, "journal": None if journal is None else str(journal)}
    with JSONStream(sys.stdout, opening, "allocations") as stream:
        yield lambda orphan, deleted: stream.add(_as_json(orphan, named, deleted))


class _Teller:
    """Prints each orphan; before the first deleted orphan, the name of the journal."""

    def __init__(self, journal: Path | None, named: bool) -> None:
        self._journal = journal
        self._named = named

    def __call__(self, orphan: Orphan, deleted: bool) -> None:
        if deleted and self._journal is not None:
            print(f"Journal of what is deleted: {self._journal}")
            self._journal = None
        print(described(orphan, self._named, deleted), flush=True)


def described(orphan: Orphan, named: bool, deleted: bool) -> str:
    """Return two lines: what the consumer holds of which provider, and the audit's reason."""
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
