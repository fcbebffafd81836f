"""What a command prints on stdout if it was asked for JSON and has failed before it printed any."""

import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

from compute.cli.console import hearing

#: the command whose option --json names its input
_READS_JSON = "request"


def wants_json(command: str, arguments: Sequence[str]) -> bool:
    """Say whether the arguments of a command ask for JSON."""
    words = f" {' '.join(arguments)} ".replace("=", " ")
    if any(asked in words for asked in (" -f json ", " -fjson ", " --format json ")):
        return True
    return command != _READS_JSON and "--json" in arguments


def with_errors(run: Callable[[], int]) -> int:
    """Run a command; if it fails before it prints anything, print an object with the error."""
    watched = _Watched(sys.stdout)
    with hearing() as heard, contextlib.redirect_stdout(watched):
        try:
            code = run()
        except SystemExit as ended:
            # bad usage
            code = ended.code if isinstance(ended.code, int) else 1
    if code and heard and not watched.is_written:
        print(json.dumps({"error": heard[-1]}), flush=True)
    return code


class _Watched:
    """A stream that knows whether anything was written."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.is_written = False

    def write(self, text: str) -> int:
        self.is_written = self.is_written or bool(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
