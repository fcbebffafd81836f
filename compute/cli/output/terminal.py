"""rich's console, as the commands use it."""

from rich.console import Console


class Terminal(Console):
    """rich's console. It raises BrokenPipeError when the reader is gone, instead of exiting."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError
