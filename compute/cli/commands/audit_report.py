"""What `nova-manage placement audit` says of each orphan."""

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from compute.cli.output.amounts import amounts_told
from compute.cli.output.json_stream import JSONStream
from compute.cli.output.recorded_consumers import RecordedPlaces
from compute.maintenance.audit.audit import Orphan
from compute.maintenance.audit.misfits import MisfitGuest
from compute.maintenance.audit.suspects import ToldSuspects
from placement.reports.lines import escaped


class Teller(Protocol):
    """Reports what an audit finds."""

    def __call__(self, orphan: Orphan, deleted: bool) -> None:
        """Report an orphan, and whether it was deleted."""

    def misfits(self, guests: Iterable[MisfitGuest]) -> int:
        """Report guests that hold less or more than they should, after all orphans.

        Return how many lack something: nothing is missing where a guest holds too much.
        """

    def suspects(self, found: ToldSuspects | None, places: RecordedPlaces) -> None:
        """Report what placement suspects, after all orphans; None: it has no such list for us."""


@contextlib.contextmanager
def told(as_json: bool, delete: bool, journal: Path | None, named: bool) -> Iterator[Teller]:
    """Give what reports.

    :param as_json: report one JSON object instead of lines of text
    :param delete: whether the operator asked for deletion
    :param journal: the file that records deleted allocations; None if nothing is deleted
    :param named: whether the operator named the provider
    """
    if not as_json:
        yield _OrphanLines(journal, named)
        return
    opening = {"delete": delete, "journal": None if journal is None else str(journal)}
    with JSONStream(sys.stdout, opening, "allocations") as stream:
        yield _Object(stream, named)


class _Object:
    """Writes one JSON object."""

    def __init__(self, stream: JSONStream, named: bool) -> None:
        self._stream = stream
        self._named = named

    def __call__(self, orphan: Orphan, deleted: bool) -> None:
        self._stream.add(_as_json(orphan, self._named, deleted))

    def misfits(self, guests: Iterable[MisfitGuest]) -> int:
        found = [
            ({"instance": one.instance.uuid, "node": one.instance.node}, one.misfit)
            for one in guests
        ]
        self._stream.closing = {
            "lacking": [
                guest | {"lacking": dict(misfit.lacking)}
                for guest, misfit in found
                if misfit.lacking
            ],
            "surplus": [
                guest | {"surplus": dict(misfit.surplus)}
                for guest, misfit in found
                if misfit.surplus
            ],
        }
        return sum(bool(misfit.lacking) for _, misfit in found)

    def suspects(self, found: ToldSuspects | None, places: RecordedPlaces) -> None:
        if found is None:
            self._stream.closing = {**self._stream.closing, "suspects": None, "kinds": None}
            return
        rows = [row | {"known": known(row, places)} for row in found.rows]
        self._stream.closing = {
            **self._stream.closing,
            "suspects": rows,
            "kinds": dict(found.kinds),
        }


class _OrphanLines:
    """Prints each orphan; before the first deleted orphan, the name of the journal."""

    def __init__(self, journal: Path | None, named: bool) -> None:
        self._journal = journal
        self._named = named

    def __call__(self, orphan: Orphan, deleted: bool) -> None:
        if deleted and self._journal is not None:
            print(f"Journal of what is deleted: {self._journal}")
            self._journal = None
        print(described(orphan, self._named, deleted), flush=True)

    def misfits(self, guests: Iterable[MisfitGuest]) -> int:
        count = 0
        for one in guests:
            who, found = f"Instance {one.instance.uuid} on {one.instance.node}", one.misfit
            count += bool(found.lacking)
            told = []
            if found.lacking:
                amounts = amounts_told(found.lacking)
                told.append(f"lacks {amounts}: heal_allocations gives it what has room.")
            if found.surplus:
                amounts = amounts_told(found.surplus)
                told.append(
                    f"holds {amounts} too much: heal_allocations with --instance and "
                    "--force replaces all that it holds."
                )
            for text in told:
                print(escaped(f"{who} {text}"), flush=True)
        return count

    def suspects(self, found: ToldSuspects | None, places: RecordedPlaces) -> None:
        if found is None:
            print(UNTOLD)
            return
        for row in found.rows:
            print(suspected(row, known(row, places)))
        counts = ", ".join(f"{count} {kind}" for kind, count in found.kinds.items() if count)
        rest = "" if found.is_whole else f", the first {len(found.rows)} are shown"
        print(f"Placement suspects: {counts or 'nothing'}{rest}.")


#: printed where placement is OpenStack's, or a Berth that refuses to tell its suspects
UNTOLD = (
    "Placement tells no suspects: it is OpenStack Placement, or Berth without extensions, or this "
    "user may not ask."
)


def known(row: Mapping[str, Any], places: RecordedPlaces) -> str | None:
    """Return what the records say of a suspect's consumer, or of its provider."""
    if row["consumer"] is not None:
        return places.described(row["consumer"])
    return places.node(row["provider"]["uuid"]) if row["provider"] else None


def suspected(row: Mapping[str, Any], known: str | None) -> str:
    """Return two lines: who is suspected of what, and placement's sentence about it."""
    said = [f"Suspect {row['kind']}:"]
    if row["consumer"] is not None:
        said.append(f"consumer UUID {row['consumer']}")
    if row["provider"] is not None:
        where = f"Resource Provider {row['provider']['uuid']} ({row['provider']['name']})"
        said.append(where if row["consumer"] is None else f"on {where}")
    if row["resource_class"] is not None:
        said.append(row["resource_class"])
    first = f"{' '.join(said)}, since {row['first_seen']}; records: {known or 'nothing'}"
    return f"{escaped(first)}\n  {escaped(row['detail'])}"


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
    second = (
        f"provider {orphan.provider_name}, kind {orphan.kind}, "
        f"type {orphan.consumer_type or 'unknown'}, host {orphan.host or 'unknown'}, "
        f"last change {age}: {orphan.verdict.reason}"
    )
    return f"{escaped(first)}\n  {escaped(second)}"


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit} ago"
    return f"{int(seconds)} seconds ago"


def _as_json(orphan: Orphan, named: bool, deleted: bool) -> dict[str, object]:
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
        "to_do": orphan.to_do(named),
        "deleted": deleted,
    }
