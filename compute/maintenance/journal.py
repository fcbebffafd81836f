"""A journal of what a command takes away, from which it can be put back.

Each line is one JSON object, flushed to the disk before the change that it is about. So nothing is
changed without an entry, while an entry may be about a change that was not made in the end.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, Self

from compute.report import SchedulerReportClient
from compute.report.consumers.consumer import UNTYPED, read_consumer, write_consumer
from compute.report.wire.context import RequestContext


@dataclass(frozen=True)
class EntryKind:
    """What the entries of one journal are.

    :param name: what its files are called
    :param fields: what each entry has; the first one is a string
    :param types: field → the type that its values must have
    """

    name: str
    fields: tuple[str, ...]
    types: Mapping[str, type] = field(default_factory=dict)

    @property
    def beginning(self) -> str:
        """How each entry begins."""
        return f'{{"{self.fields[0]}": "'


REMOVED_ALLOCATIONS = EntryKind(
    "removed-allocations",
    ("consumer", "provider", "resources", "project_id", "user_id"),
    {"consumer": str, "provider": str, "resources": dict},
)


def default_path(folder: Path, kind: EntryKind = REMOVED_ALLOCATIONS) -> Path:
    """Return the path of a new journal in a folder, named by the time (UTC) and the process.

    Each run has its own journal, so that one run can be undone without undoing another.
    """
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return folder / f"{kind.name}-{now}-{os.getpid()}.jsonl"


class JournalUnusable(Exception):
    """The journal can't be opened, or the file is no journal."""


class NotNoted(Exception):
    """An entry can't be written: what it is about must not be changed."""


class Journal:
    """A context that appends to a journal. Its first entry opens the file, or makes it.

    An incomplete last entry is removed from the file: its change was never made. Only one run can
    write a journal at a time.
    """

    def __init__(self, path: Path, kind: EntryKind = REMOVED_ALLOCATIONS) -> None:
        self.path = path
        self._kind = kind
        self._file: FileIO | None = None

    def __enter__(self) -> Self:
        return self

    def _open(self) -> FileIO:
        try:
            # Unbuffered: a buffer would still be written when the file is closed after a failure.
            file = self.path.open("ab", buffering=0)
        except OSError as error:
            raise JournalUnusable(f"Journal {self.path}: {error.strerror}") from error
        try:
            if self.path.is_file():
                self._prepare(file)
        except BaseException:
            file.close()
            raise
        return file

    def _prepare(self, file: FileIO) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise JournalUnusable(f"Journal {self.path}: another run is writing it") from error
        size = os.fstat(file.fileno()).st_size
        if not size:
            _flush_folder(self.path.parent)
        _, cut_short = _read(self.path, self._kind)
        if cut_short:
            file.truncate(size - len(cut_short.encode()))

    def __exit__(self, *raised: object) -> None:
        if self._file is not None:
            self._file.close()

    def note(self, consumer: str, provider: str, body: Mapping[str, Any]) -> None:
        """Write an entry on what `consumer` holds of `provider`. Raises what `append` raises."""
        self.append(
            {
                "consumer": consumer,
                "provider": provider,
                "resources": body["allocations"][provider]["resources"],
                "project_id": body["project_id"],
                "user_id": body["user_id"],
                "consumer_type": body.get("consumer_type"),
            }
        )

    def append(self, entry: Mapping[str, object]) -> None:
        """Write an entry, whose fields are in the order of its kind.

        Raises NotNoted if it can't be written, and JournalUnusable if it is the first one and the
        file can't be used.
        """
        if self._file is None:
            self._file = self._open()
        left = memoryview((json.dumps(entry) + "\n").encode())
        try:
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise NotNoted(f"Journal {self.path}: {error.strerror}") from error


def _flush_folder(path: Path) -> None:
    """Flush a folder, so that a new file in it survives a power failure."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def entries(path: Path, kind: EntryKind = REMOVED_ALLOCATIONS) -> list[dict[str, object]]:
    """Read a journal, newest entry first, without an incomplete last line.

    Raises JournalUnusable if the file can't be read or is no journal.
    """
    found, _ = _read(path, kind)
    return found[::-1]


def _read(path: Path, kind: EntryKind) -> tuple[list[dict[str, object]], str]:
    """Return the entries and the text of an incomplete last line; raises what `entries` raises."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise JournalUnusable(f"Journal {path} can't be read: {error}") from error
    *lines, cut_short = text.split("\n")
    try:
        found = [json.loads(line) for line in lines]
    except (ValueError, RecursionError) as error:
        raise JournalUnusable(f"{path} is no journal: {error}") from error
    if not all(isinstance(entry, dict) and entry.keys() >= set(kind.fields) for entry in found):
        raise JournalUnusable(f"{path} is no journal: an entry lacks one of {sorted(kind.fields)}")
    if not all(type(entry[name]) is kind.types[name] for entry in found for name in kind.types):
        raise JournalUnusable(f"{path} is no journal: an entry has values of other types")
    if not cut_short.startswith(kind.beginning[: len(cut_short)]):
        raise JournalUnusable(f"{path} is no journal: its last line is no entry")
    return found, cut_short


def is_back(
    client: SchedulerReportClient, context: RequestContext, entry: Mapping[str, Any]
) -> bool:
    """Say whether the consumer of an entry holds something there already.

    Raises ConsumerAllocationRetrievalFailed if placement refuses, and ClientException if it is
    unreachable.
    """
    return entry["provider"] in read_consumer(client, context, entry["consumer"])["allocations"]


def put_back(
    client: SchedulerReportClient, context: RequestContext, entry: Mapping[str, Any]
) -> bool:
    """Put back the allocation of an entry; False if the consumer holds something there already.

    Raises AllocationUpdateFailed if placement refuses, and what `is_back` raises.
    """
    consumer, provider = entry["consumer"], entry["provider"]
    body = read_consumer(client, context, consumer)
    if provider in body["allocations"]:
        return False
    if not body["allocations"]:
        body |= {
            "project_id": entry["project_id"],
            "user_id": entry["user_id"],
            "consumer_generation": None,
        }
        if body["version"] != "1.28":
            body["consumer_type"] = entry.get("consumer_type") or UNTYPED
    wanted = body["allocations"] | {provider: {"resources": entry["resources"]}}
    write_consumer(client, context, consumer, body, wanted)
    return True
