"""The files of the repository, each read once in a process."""

import functools
import pathlib

ROOT = pathlib.Path(__file__).parents[2]


@functools.cache
def text_of(path: pathlib.Path) -> str:
    """Return what a file contains."""
    return path.read_text(encoding="utf-8")


def shown(path: pathlib.Path) -> str:
    """Return a file's path as failures name it."""
    return path.relative_to(ROOT).as_posix()
