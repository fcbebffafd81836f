"""A bar while a command works through many things; on what is no terminal, nothing."""

import sys
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from compute.cli.console import Terminal


class Bar:
    """A context that shows how many of `total` are done, below whatever is printed meanwhile.

    It goes to stdout if that is a terminal, else to stderr if that is one. What is printed must
    go through `sys.stdout` and `sys.stderr` as they are at that time.
    """

    def __init__(self, what: str, total: int, hidden: bool = False) -> None:
        to_stdout = sys.stdout.isatty()
        console = Terminal(file=sys.stdout if to_stdout else sys.stderr)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            redirect_stdout=to_stdout,
            redirect_stderr=True,
            disable=hidden or not console.is_terminal,
        )
        self._task = self._progress.add_task(what, total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def advance(self) -> None:
        """One more is done."""
        self._progress.advance(self._task)
