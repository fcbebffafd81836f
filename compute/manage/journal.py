"""A journal of removed allocations, from which they can be put back.

One JSON object a line, written and flushed to the disk before the removal it is about. So an entry
may be about something that was never removed, but nothing is removed without an entry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from compute.context import RequestContext
from compute.manage.audit import read_consumer, write_consumer
from compute.report import SchedulerReportClient

FIELDS = {"consumer", "provider", "resources", "project_id", "user_id"}


class JournalUnusable(Exception):
    """The file can't be read or written, or is no journal."""


class Journal:
    """A context that appends to a file, made when it is missing. Raises JournalUnusable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None

    def __enter__(self) -> Self:
        try:
            self._file = self._path.open("a", encoding="utf-8")
        except OSError as error:
            raise JournalUnusable(f"Journal {self._path}: {error.strerror}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def note(self, consumer: str, provider: str, body: Mapping[str, Any]) -> None:
        """Write down what `consumer` holds of `provider`, before it is removed.

        Raises JournalUnusable: then nothing may be removed.
        """
        entry = {
            "consumer": consumer,
            "provider": provider,
            "resources": body["allocations"][provider]["resources"],
            "project_id": body["project_id"],
            "user_id": body["user_id"],
            "consumer_type": body.get("consumer_type"),
        }
        try:
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise JournalUnusable(f"Journal {self._path}: {error.strerror}") from error


def entries(path: Path) -> list[dict[str, Any]]:
    """Read a journal, newest entry first; a last line cut short is left out.

    Raises JournalUnusable.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise JournalUnusable(f"Journal {path} can't be read: {error}") from error
    *lines, _cut_short = text.split("\n")
    try:
        found = [json.loads(line) for line in lines]
    except ValueError as error:
        raise JournalUnusable(f"{path} is no journal: {error}") from error
    if not all(isinstance(entry, dict) and entry.keys() >= FIELDS for entry in found):
        raise JournalUnusable(f"{path} is no journal: an entry lacks one of {sorted(FIELDS)}")
    return found[::-1]


def put_back(
    client: SchedulerReportClient, context: RequestContext, entry: Mapping[str, Any]
) -> bool:
    """Give a consumer back what an entry says it held; False if it holds something there already.

    Raises AllocationUpdateFailed, ConsumerAllocationRetrievalFailed, and ClientException.
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
            body["consumer_type"] = entry.get("consumer_type") or "unknown"
    wanted = body["allocations"] | {provider: {"resources": entry["resources"]}}
    write_consumer(client, context, consumer, body, wanted)
    return True
