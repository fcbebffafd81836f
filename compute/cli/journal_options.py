"""The options of commands that write a journal of what they change, and can undo it."""

import argparse
from pathlib import Path


def add_journal_options(options: argparse.ArgumentParser, changing: str, undone: str) -> None:
    """Add `--journal`, `--undo` and `--dry-run`.

    :param changing: the option with which the command changes something
    :param undone: the help text of `--undo`
    """
    options.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help=f"with {changing}: append what is changed to it, instead of to a new file in "
        "state_path",
    )
    options.add_argument("--undo", type=Path, metavar="FILE", help=undone)
    options.add_argument(
        "--dry-run",
        action="store_true",
        help=f"with {changing} and --undo: say what would be done, and change nothing",
    )
