"""The services that run in a test's process, of which most are never closed.

Their audits go on beside the tests that come next. What they log when their database is gone would
be taken for words of the command that is under test then.
"""

import contextlib
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from placement import search_parts
from placement.candidates.live_snapshot import LiveSnapshot
from placement.storage.engine import Database

#: the name of each database, of SQLite without folder and suffix, and what is audited against it
_AUDITED: list[tuple[str, weakref.ref[LiveSnapshot]]] = []


@contextlib.contextmanager
def all_known() -> Iterator[None]:
    """Note every service that searches in this block."""
    plain = search_parts.made

    def made(conf: Any, database: Database, *more: Any) -> search_parts.SearchParts:
        parts = plain(conf, database, *more)
        _AUDITED[:] = [known for known in _AUDITED if known[1]() is not None]
        name = Path(str(database.engine.url.database)).stem
        _AUDITED.append((name, weakref.ref(parts.snapshot)))
        return parts

    search_parts.made = made  # type: ignore[assignment]
    try:
        yield
    finally:
        search_parts.made = plain


@contextlib.contextmanager
def audits_end_with_it() -> Iterator[None]:
    """End the audits of the services that search for the first time in this block."""
    before = [audited for _, audited in _AUDITED]
    yield
    _end(audited for _, audited in _AUDITED if audited not in before)


def end_audits(name: str) -> None:
    """End the audits of a database that is about to be removed."""
    _end(audited for database, audited in _AUDITED if database == name)


def _end(those: Iterable[weakref.ref[LiveSnapshot]]) -> None:
    """End audits, and wait for one that is under way."""
    for audited in those:
        snapshot = audited()
        if snapshot is not None:
            snapshot.rest()
