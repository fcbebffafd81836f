"""A mutant: one small change of one line of the product that a test should notice."""

import ast
import bisect
import dataclasses


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A change of a function's source.

    :param line: the first line that changes
    :param start: the first byte that is replaced, and `end` the one behind the last
    :param kind: what is done, in a few words
    :param before: the changed lines as they are, without what indents them
    :param after: the lines that stand there instead
    """

    path: str
    function: str
    line: int
    start: int
    end: int
    text: str
    kind: str
    before: str
    after: str

    def applied(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells it from others, wherever its lines have moved."""
        return self.path, self.function, self.before, self.after

    def __str__(self) -> str:
        lines = [f"{self.path}:{self.line}  {self.function}  ({self.kind})"]
        lines += (f"  - {line}" for line in self.before.splitlines())
        lines += (f"  + {line}" for line in self.after.splitlines())
        return "\n".join(lines)


class Source:
    """The bytes of a Python file, and where the nodes of its tree stand in them."""

    def __init__(self, source: bytes) -> None:
        self.bytes = source
        self.tree = ast.parse(source)
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Return where a node begins; parentheses around it aren't part of it."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        """Return where a node ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node."""
        return self.bytes[self.start(node) : self.end(node)].decode()

    def line(self, place: int) -> int:
        """Return the line that a byte is in."""
        return bisect.bisect_right(self._starts, place)

    def changed(self, start: int, end: int, text: str) -> tuple[str, str]:
        """Return the lines that a replacement changes, before and after, as little indented."""
        first = self._starts[self.line(start) - 1]
        last = self._starts[min(self.line(max(start, end - 1)), len(self._starts) - 1)]
        before = self.bytes[first:last].decode()
        after = (self.bytes[first:start] + text.encode() + self.bytes[end:last]).decode()
        return _stripped(before), _stripped(after)


def _stripped(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())
