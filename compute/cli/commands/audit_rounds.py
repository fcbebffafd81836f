"""`audit --every` and `--textfile`: audits one after the other, and a file with their metrics."""

import contextlib
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from compute.cli.command_line import PROGRAM, UnusableInput
from compute.cli.console import say
from compute.maintenance.audit.audit import SUSPECT, Orphan
from compute.maintenance.audit.misfits import MisfitGuest
from compute.metrics.audit import LACKING, SURPLUS, AuditMetrics

KINDS = tuple(kind.name.lower() for kind in SUSPECT)
NAME = "berth_audit.prom"
#: node_exporter runs as a user of its own
READABLE = 0o644


Note = Callable[[Orphan | MisfitGuest], None]


def rounds(
    run_once: Callable[[Note], int],
    failed: int,
    every: int | None,
    textfile: Path | None,
    judges_guests: bool,
) -> int:
    """Audit once, or until a signal raises KeyboardInterrupt; return the exit code.

    Audits never overlap: if one takes longer than `every` seconds, the beginnings that fall into it
    are left out. Raises UnusableInput, in the first round only, if the options can't be used.

    :param run_once: runs one audit, calls its argument with all it finds, returns the exit code
    :param failed: the exit code of an audit that could not be finished
    :param every: seconds between the beginnings of two audits; None: there is one audit
    :param textfile: is written after each audit; for a folder, a file of the name NAME in it
    :param judges_guests: whether an audit finds misfit guests
    """
    if textfile is not None and textfile.is_dir():
        textfile = textfile / NAME
    if textfile is not None and not textfile.absolute().parent.is_dir():
        raise UnusableInput(f"--textfile {textfile}: there is no folder {textfile.parent}.")
    metrics = AuditMetrics(KINDS)
    if textfile is not None:
        # an existing file without our metrics is replaced, too
        with contextlib.suppress(OSError, ValueError):
            metrics.recall(textfile.read_text())
    is_first = True
    while True:
        begun = time.monotonic()
        found = _Found()
        try:
            code = run_once(found.note)
        except UnusableInput as error:
            if is_first:
                raise
            say(PROGRAM, error)
            code = failed
        is_first = False
        took = time.monotonic() - begun
        if code == failed:
            metrics.failed(took)
        else:
            metrics.ended(took, found.orphans, found.guests if judges_guests else None)
        if textfile is not None:
            try:
                write(textfile, metrics.text())
            except OSError as error:
                say(PROGRAM, f"--textfile {textfile}: {error.strerror}")
                code = failed
        if every is None:
            return code
        sys.stdout.flush()
        time.sleep(every - (time.monotonic() - begun) % every)


class _Found:
    """Counts what one audit finds, by kind."""

    def __init__(self) -> None:
        self.orphans: Counter[str] = Counter()
        self.guests: Counter[str] = Counter()

    def note(self, found: Orphan | MisfitGuest) -> None:
        """Count it; a guest may lack one thing and hold too much of another."""
        if isinstance(found, Orphan):
            self.orphans[found.verdict.kind.name.lower()] += 1
            return
        self.guests[LACKING] += bool(found.misfit.lacking)
        self.guests[SURPLUS] += bool(found.misfit.surplus)


def write(path: Path, content: bytes) -> None:
    """Replace the file in one step, readable for every user. Raises OSError if that fails.

    node_exporter doesn't read the temporary file: its name ends otherwise.
    """
    folder = path.absolute().parent
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), READABLE)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
