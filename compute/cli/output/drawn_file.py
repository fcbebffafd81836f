"""`--html FILE`: the same drawing as a file for a ticket (extensions.md 9)."""

import argparse
import datetime
import os
import pathlib
import stat
import tempfile
from typing import Any

from compute.cli.command_line import PROGRAM, UnusableInput
from placement.extensions.page.drawing_file import drawing_file


def add_option(options: argparse.ArgumentParser, drawn: str) -> None:
    """Add the option to a command.

    :param drawn: what the file shows
    """
    options.add_argument("--html", metavar="FILE", help=f"draw {drawn} in FILE, for a browser")


def check(path: str) -> None:
    """Raise UnusableInput if no file can be written there; call it before all work."""
    target = _target(path)
    folder = target.parent
    if target.is_dir():
        raise UnusableInput(f"--html: {path} is a folder")
    if not folder.is_dir():
        raise UnusableInput(f"--html: there is no folder {folder}")
    if _is_no_file(path):
        # a device must not be replaced by a file: other programs would lose it
        raise UnusableInput(f"--html: {path} is no file")
    if not os.access(folder, os.W_OK):
        raise UnusableInput(f"--html: nothing can be written in {folder}")
    if target.exists() and not os.access(target, os.W_OK):
        raise UnusableInput(f"--html: {path} can't be written: it is read-only")


def _target(path: str) -> pathlib.Path:
    """Return the file to write for a path: of a link, the file that it leads to."""
    try:
        return pathlib.Path(path).resolve()
    except OSError as error:
        raise UnusableInput(f"--html: {path} can't be written: {error.strerror}") from error
    except RuntimeError as error:  # how Python 3.11 and 3.12 name a link that leads to itself
        raise UnusableInput(f"--html: {path} is a link to itself") from error


def _is_no_file(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def write(path: str, title: str, command: str, data: dict[str, Any]) -> None:
    """Write the file as a whole, or leave it as it is.

    :param command: which command of `nova-manage placement` wrote it
    :param data: what is drawn, beside its title

    Raises UnusableInput if it can't be written.
    """
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    about = {"title": title, "command": f"{PROGRAM} placement {command}", "written": now}
    text = drawing_file(title, about | data)
    check(path)
    target = _target(path)
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            dir=target.parent,
            prefix=".html.",
            delete=False,
        ) as file:
            try:
                file.write(text)
                file.flush()
                os.chmod(file.name, _mode(target))
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise UnusableInput(f"--html: {path} can't be written: {error.strerror}") from error


def _mode(target: pathlib.Path) -> int:
    """Return the permissions of the file: those it had, so that nobody reads more than before."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return 0o666 & ~_umask()


def _umask() -> int:
    """Return which permissions this process gives to nobody; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
