"""The page /metrics/providers: samples of every provider, named as other exporters name them.

It may have millions of lines. So it is written some lines at a time, from the snapshot's columns.
"""

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from wsgiref.types import StartResponse

import numpy as np

from placement.candidates.cloud.columns import Column
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.slots import WholeSlot
from placement.extensions.monitoring import plain_text
from placement.extensions.monitoring.aside import Aside
from placement.extensions.monitoring.provider_query import (
    ALLOCATIONS,
    INFO,
    OF_CLASS,
    PREFIX,
    TRAIT,
    ProviderQuery,
    UnanswerableQuery,
    asked,
)
from placement.http.environ import Environ
from placement.storage import providers
from placement.storage.database.engine import Database
from placement.storage.driver.error_log import log_unexpected
from placement.storage.whole_cloud import snapshot_reads

LOG = logging.getLogger(__name__)

#: seconds that the page waits for the database
PATIENCE = 5.0
#: lines that are written together, and providers whose allocations are read together
_LINES, _PROVIDERS = 2_000, 1_000
#: how often the snapshot is read, if providers are deleted all the time
_TIMES = 3
FORM = "text/plain; version=0.0.4; charset=utf-8"
_TEXTS = {
    INFO: "Always 1: the uuids of a provider, its parent (or nothing) and its root.",
    TRAIT: "Always 1: a provider has a trait.",
    ALLOCATIONS: "What a consumer has of a provider; uuid is the consumer's.",
}

#: uuids of consumers, ids of classes and amounts, by provider id
Held = Mapping[int, Sequence[tuple[str, int, int]]]
#: names and generations by provider id; the snapshot may not know a generation
Named = Mapping[int, tuple[str, int]]


class ProviderPage:
    """The page, as a WSGI application.

    While the database doesn't answer, the page has only `openstack_placement_up 0`.

    :param current: returns the snapshot as of now
    """

    def __init__(
        self, database: Database, current: Callable[[], Snapshot], patience: float = PATIENCE
    ) -> None:
        self._database, self._current, self._patience = database, current, patience
        self._reading = Aside(self._read)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        try:
            wanted = asked(environ.get("QUERY_STRING", ""))
        except UnanswerableQuery as wrong:
            return plain_text.answer(environ, start_response, "400 Bad Request", f"{wrong}\n")
        other = plain_text.unless_read(environ, start_response, FORM)
        if other is not None:
            return other
        attempt = self._reading.attempt(self._patience)
        unknown: list[str] = []
        if attempt.value is not None:
            known = attempt.value[0][0].names.class_ids
            unknown = sorted((wanted.classes or frozenset()) - known.keys())
        if unknown:
            refused = f"There is no resource class {unknown[0]!r}.\n"
            return plain_text.answer(environ, start_response, "400 Bad Request", refused)
        start_response("200 OK", [("Content-Type", FORM)])
        if attempt.value is None:
            return [_up(0)]
        snapshot, names = attempt.value[0]
        return _until_failure(
            itertools.chain([_up(1)], pieces(snapshot, names, wanted, self._held))
        )

    def _read(self) -> tuple[Snapshot, Named]:
        for _ in range(_TIMES):
            snapshot = self._current()
            names = self._database.read(providers.named_generations)
            # otherwise a provider was deleted between the two, and the next snapshot lacks it
            if snapshot.register.slot_of_id.keys() <= names.keys():
                break
        return snapshot, names

    def _held(self, ids: Sequence[int]) -> Held:
        """Return what consumers hold of some providers."""
        held: dict[int, list[tuple[str, int, int]]] = {}
        for row in self._database.read(lambda each: snapshot_reads.holders(each, ids)):
            held.setdefault(row[0], []).append((row[1], row[2], row[3]))
        return held


class CutOff(Exception):
    """The page ends in the middle: the client must not take it for all there is."""


def _until_failure(page: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the page. Raises CutOff if it fails; the log then has the failure."""
    try:
        yield from page
    except Exception as error:
        log_unexpected(LOG, "/metrics/providers failed", error)
        # the server logs this error, too: it is without the failure, which may quote a statement
        raise CutOff("/metrics/providers ended early") from None


def _up(number: int) -> bytes:
    return (f"{_head('up', 'Whether the figures could be read.')}{PREFIX}up {number}\n").encode()


def pieces(
    snapshot: Snapshot,
    names: Named,
    wanted: ProviderQuery,
    held: Callable[[Sequence[int]], Held],
) -> Iterator[bytes]:
    """Yield the page's families, some lines at a time.

    :param names: a provider that isn't in them is left out: it was just created or deleted
    :param held: returns what consumers hold of some providers
    """
    shown = _ProviderLines(snapshot, names, wanted)
    for family, text in OF_CLASS.items():
        if family in wanted.families:
            yield from _parts(family, text, shown.of_class(family))
    if INFO in wanted.families:
        yield from _parts(INFO, _TEXTS[INFO], shown.infos())
    if TRAIT in wanted.families:
        yield from _parts(TRAIT, _TEXTS[TRAIT], shown.traits())
    if ALLOCATIONS in wanted.families:
        yield from _parts(ALLOCATIONS, _TEXTS[ALLOCATIONS], shown.allocations(held))


def _head(family: str, text: str) -> str:
    return f"# HELP {PREFIX}{family} {text}\n# TYPE {PREFIX}{family} gauge\n"


def _parts(family: str, text: str, lines: Iterator[str]) -> Iterator[bytes]:
    yield _head(family, text).encode()
    while part := "".join(itertools.islice(lines, _LINES)):
        yield part.encode(errors="replace")


def escaped(value: str) -> str:
    """Return the value of a label as the text format has it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


class _ProviderLines:
    """The lines of the providers that a query asks for."""

    def __init__(self, snapshot: Snapshot, names: Named, wanted: ProviderQuery) -> None:
        self._snapshot, self._wanted = snapshot, wanted
        ids = snapshot.register.ids.tolist()
        among = snapshot.forest.is_root if wanted.roots_only else snapshot.forest.alive
        self._mask = among & np.fromiter((each in names for each in ids), np.bool_, snapshot.size)
        self._generations = np.fromiter(
            (names[each][1] if each in names else 0 for each in ids), np.int64, snapshot.size
        )
        #: the escaped name by slot; empty where nothing is shown
        self._names = [
            escaped(names[each][0]) if there else ""
            for each, there in zip(ids, self._mask.tolist(), strict=True)
        ]

    def _classes(self) -> Iterator[tuple[str, Column]]:
        classes = self._snapshot.names.classes
        for class_id in sorted(self._snapshot.columns):
            name = classes.get(class_id)
            if name is not None and (self._wanted.classes is None or name in self._wanted.classes):
                yield escaped(name), self._snapshot.columns[class_id]

    def of_class(self, family: str) -> Iterator[str]:
        """Yield the lines of a family with a value for each provider and resource class."""
        begin = f'{PREFIX}{family}{{hostname="'
        for name, column in self._classes():
            end = f'",resourcetype="{name}"}} '
            chosen = self._mask[column.slots]
            slots = column.slots[chosen].tolist()
            values = self._values(family, column)[chosen].tolist()
            names = self._names
            for slot, value in zip(slots, values, strict=True):
                yield f"{begin}{names[slot]}{end}{value}\n"

    def _values(self, family: str, column: Column) -> np.ndarray:
        if family == "resource_generation":
            return self._generations[column.slots]
        if family == "resource_capacity":
            return np.floor(column.capacities)
        numbers: dict[str, np.ndarray] = {
            "resource_total": column.total,
            "resource_reserved": column.reserved,
            "resource_usage": column.used,
            "resource_allocation_ratio": column.ratio,
        }
        return numbers[family]

    def infos(self) -> Iterator[str]:
        """Yield who each provider is, and where in its tree."""
        forest, uuids, names = self._snapshot.forest, self._snapshot.register.uuids, self._names
        for slot in map(WholeSlot, np.flatnonzero(self._mask).tolist()):
            parent = WholeSlot(int(forest.parent[slot]))
            above = escaped(uuids[parent]) if parent >= 0 else ""
            yield (
                f'{PREFIX}{INFO}{{hostname="{names[slot]}",uuid="{escaped(uuids[slot])}",'
                f'parent="{above}",root="{escaped(uuids[WholeSlot(int(forest.root[slot]))])}"}} 1\n'
            )

    def traits(self) -> Iterator[str]:
        """Yield the traits of each provider that the query asks for."""
        of_slot = self._snapshot.traits_of
        shown = {
            trait_id: escaped(name)
            for trait_id, name in self._snapshot.names.traits.items()
            if self._wanted.has_trait(name)
        }
        for slot in np.flatnonzero(self._mask).tolist():
            for trait_id in of_slot[slot]:
                if trait_id in shown:
                    begin = f'{PREFIX}{TRAIT}{{hostname="{self._names[slot]}"'
                    yield f'{begin},trait="{shown[trait_id]}"}} 1\n'

    def allocations(self, held: Callable[[Sequence[int]], Held]) -> Iterator[str]:
        """Yield what each consumer has of each provider."""
        classes = {
            class_id: escaped(name)
            for class_id, name in self._snapshot.names.classes.items()
            if self._wanted.classes is None or name in self._wanted.classes
        }
        ids = self._snapshot.register.ids.tolist()
        slots = np.flatnonzero(self._mask).tolist()
        for begin in range(0, len(slots), _PROVIDERS):
            part = slots[begin : begin + _PROVIDERS]
            found = held([ids[slot] for slot in part])
            for slot in part:
                for consumer, class_id, used in found.get(ids[slot], ()):
                    if class_id in classes:
                        yield (
                            f'{PREFIX}{ALLOCATIONS}{{hostname="{self._names[slot]}",'
                            f'uuid="{escaped(consumer)}",resourcetype="{classes[class_id]}"}} '
                            f"{used}\n"
                        )
