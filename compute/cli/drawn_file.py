"""`--html FILE`: the same drawing as a file for a ticket (extensions.md 9)."""

import argparse
import datetime
import os
import pathlib
import tempfile
from typing import Any

from compute.cli.command_line import PROGRAM, InvalidInput
from placement.page.drawing_file import drawing_file


def add_option(options: argparse.ArgumentParser, drawn: str) -> None:
    """Add the option to a command.

    :param drawn: what the file shows
    """
    options.add_argument("--html", metavar="FILE", help=f"draw {drawn} in FILE, for a browser")


def check(path: str) -> None:
    """Raise InvalidInput if no file can be written there: before anything else is done."""
    target = pathlib.Path(path).resolve()
    folder = target.parent
    if target.is_dir():
        raise InvalidInput(f"--html: {path} is a folder")
    if target.exists() and not target.is_file():
        # such as /dev/stdout: a file in its place would take it away from everybody
        raise InvalidInput(f"--html: {path} is no file")
    if not folder.is_dir():
        raise InvalidInput(f"--html: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"--html: nothing can be written in {folder}")


def write(path: str, title: str, command: str, data: dict[str, Any]) -> None:
    """Write the file whole, or leave what stands there.

    :param command: which command of `nova-manage placement` wrote it
    :param data: what is drawn, beside its title

    Raise InvalidInput if it can't be written.
    """
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    about = {"title": title, "command": f"{PROGRAM} placement {command}", "written": now}
    text = drawing_file(title, about | data)
    target = pathlib.Path(path).resolve()
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            dir=target.absolute().parent,
            prefix=f".{target.name}.",
            delete=False,
        ) as file:
            try:
                file.write(text)
                file.flush()
                os.chmod(file.name, 0o666 & ~_umask())
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise InvalidInput(f"--html: {path} can't be written: {error.strerror}") from error


def _umask() -> int:
    """Return which permissions this process gives to nobody; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
