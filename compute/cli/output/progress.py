"""A progress bar on a terminal, for commands that work through many items."""

import sys
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from compute.cli.output.terminal import Terminal


class Bar:
    """A context that shows how many of `total` items are done, below the printed lines.

    The bar goes to stdout if that is a terminal, else to stderr if that is one, else nowhere.
    While it is shown, print through `sys.stdout` and `sys.stderr`: the bar replaces both.
    """

    def __init__(self, what: str, total: int, hidden: bool = False) -> None:
        to_stdout = sys.stdout.isatty()
        console = Terminal(file=sys.stdout if to_stdout else sys.stderr)
        self._is_shown = console.is_terminal and not hidden
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            redirect_stdout=to_stdout,
            redirect_stderr=True,
            disable=not self._is_shown,
        )
        self._task = self._progress.add_task(what, total=total)

    def __enter__(self) -> Self:
        if self._is_shown:
            self._progress.start()
        return self

    def __exit__(self, *raised: object) -> None:
        # before rich 14, the stop of a disabled bar prints an empty line
        if self._is_shown:
            self._progress.stop()

    def advance(self) -> None:
        """Count one more item as done."""
        self._progress.advance(self._task)
