"""`audit --every` and `--textfile`: audits one after the other, and a file with their metrics."""

import contextlib
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from compute.cli.command_line import PROGRAM, UnusableInput
from compute.cli.console import say
from compute.maintenance.audit.audit import SUSPECT, Orphan
from compute.metrics.audit import AuditMetrics

KINDS = tuple(kind.name.lower() for kind in SUSPECT)
NAME = "berth_audit.prom"
#: node_exporter runs as a user of its own
READABLE = 0o644


def rounds(
    run_once: Callable[[Callable[[Orphan], None]], int],
    failed: int,
    every: int | None,
    textfile: Path | None,
) -> int:
    """Audit once, or until a signal raises KeyboardInterrupt; return the exit code.

    Audits never overlap: if one takes longer than `every` seconds, the beginnings that fall into it
    are left out. Raises UnusableInput, in the first round only, if the options can't be used.

    :param run_once: runs one audit, calls its argument with each orphan, returns the exit code
    :param failed: the exit code of an audit that could not be finished
    :param every: seconds between the beginnings of two audits; None: there is one audit
    :param textfile: is written after each audit; for a folder, a file of the name NAME in it
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
        found: Counter[str] = Counter()
        try:
            code = run_once(partial(_count, found))
        except UnusableInput as error:
            if is_first:
                raise
            say(PROGRAM, error)
            code = failed
        is_first = False
        took = time.monotonic() - begun
        metrics.ended(took, None if code == failed else found)
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


def _count(found: Counter[str], orphan: Orphan) -> None:
    found[orphan.verdict.kind.name.lower()] += 1


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
