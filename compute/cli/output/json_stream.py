"""One JSON object whose long list is written item by item, so that memory doesn't grow with it."""

import json
from collections.abc import Mapping
from typing import IO, Any, Self

from compute.report.wire.failures import why


class JSONStream:
    """Writes `{<first fields>, <name>: [items…], <last fields>}`, an item a line.

    Set `closing`, the last fields, before the context ends. However it ends, what was written is
    complete JSON.
    """

    def __init__(self, file: IO[str], opening: Mapping[str, object], name: str) -> None:
        self._file = file
        self._opening = opening
        self._name = name
        self._items = 0
        self.closing: Mapping[str, Any] = {}

    def __enter__(self) -> Self:
        fields = "".join(f"{_pair(*field)}, " for field in self._opening.items())
        self._write(f"{{{fields}{json.dumps(self._name)}: [")
        return self

    def add(self, item: object) -> None:
        """Write one item of the list."""
        self._write(f"{',' if self._items else ''}\n{json.dumps(item)}")
        self._items += 1

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        closing = dict(self.closing)
        if isinstance(error, BaseException) and "error" not in closing:
            told = "interrupted" if isinstance(error, KeyboardInterrupt) else why(error)
            told = told or type(error).__name__
            closing["error"] = " ".join(told.split())
        fields = "".join(f", {_pair(*field)}" for field in closing.items())
        self._write(f"\n]{fields}}}\n")

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


def _pair(name: str, value: object) -> str:
    return f"{json.dumps(name)}: {json.dumps(value)}"
