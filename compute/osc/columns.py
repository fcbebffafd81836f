"""Values that programs get as they are, and people as text of bounded width."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from cliff.columns import FormattableColumn

from placement.reports.lines import escaped, wrapped

T = TypeVar("T")
#: what a command shows: the names of columns, and one row of values or several
Table = tuple[Sequence[str], Iterable[object]]
#: columns of a terminal that the text of a value may have
_WIDTH = 58
#: output formats that print texts as they are
_PLAIN = frozenset({"csv", "shell", "value"})


class LinesColumn(FormattableColumn):
    """A value with the lines that people see.

    :param value: what programs get
    :param lines: what people see
    """

    def __init__(self, value: object, lines: list[str]) -> None:
        super().__init__(value)
        self.value = value
        self._lines = lines

    def human_readable(self) -> str:
        """Return the lines, with control characters as escapes."""
        return "\n".join(
            part for line in self._lines for part in wrapped(line, 0, 2, _WIDTH) or [""]
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinesColumn) and self.value == other.value

    def __lt__(self, other: Any) -> bool:
        return str(self.value) < str(other.machine_readable())

    def __hash__(self) -> int:
        return hash(str(self.value))


def safe(row: Sequence[object], formatter: str) -> list[object]:
    """Return the values for a form of output.

    Forms without structure get texts, with control characters escaped: numbers by name as
    `VCPU=2,DISK_GB=10`, texts with commas between them, and what has more structure as JSON.
    """
    if formatter not in _PLAIN:
        return list(row)
    values = [_flat(one.value) if isinstance(one, LinesColumn) else one for one in row]
    return [escaped(value) if isinstance(value, str) else value for value in values]


def _flat(value: object) -> object:
    if isinstance(value, dict) and all(isinstance(one, int) for one in value.values()):
        return ",".join(f"{name}={number}" for name, number in value.items())
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return json.dumps(value) if isinstance(value, dict | list) else value


def text(value: str) -> LinesColumn:
    """Return a text."""
    return LinesColumn(value, [value])


def counts(value: dict[str, int]) -> LinesColumn:
    """Return numbers by name, one a line."""
    return LinesColumn(value, [f"{name} {count}" for name, count in value.items()])


def listing(values: Sequence[T], line: Callable[[T], str]) -> LinesColumn:
    """Return values, one a line."""
    return LinesColumn(values, [line(value) for value in values])
