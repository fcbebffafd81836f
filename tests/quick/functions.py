"""The functions of a Python file, and which of them a line belongs to."""

import ast
import bisect
import functools
from collections.abc import Iterable, Mapping

#: the name of what stands outside of all functions: imports, constants, classes' attributes
MODULE = ""


class Functions:
    """The functions of a source, by line.

    :param source: the text of a Python file; a text that isn't Python has no function
    """

    def __init__(self, source: str | bytes) -> None:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            tree = ast.parse("")
        #: first and last line of the whole function, first line of its body, name
        self._spans: list[tuple[int, int, int, str]] = []
        self._collect(tree, "")
        self._spans.sort()
        self._starts = [span[0] for span in self._spans]

    def _collect(self, node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                name = f"{prefix}{child.name}"
                last = child.end_lineno or child.lineno
                self._spans.append((first, last, child.body[0].lineno, name))
                self._collect(child, f"{name}.")
            elif isinstance(child, ast.ClassDef):
                self._collect(child, f"{prefix}{child.name}.")
            else:
                self._collect(child, prefix)

    @property
    def names(self) -> set[str]:
        """The names of all functions: `Class.method`, `function.inner`."""
        return {span[3] for span in self._spans}

    def at(self, line: int) -> str:
        """Return the innermost function that a line belongs to, its decorators included."""
        found = self._innermost(line)
        return found[3] if found else MODULE

    def executing(self, line: int) -> str:
        """Return the function that runs while a line is executed.

        The line of a `def` and those of its decorators are executed by what stands around them.
        """
        found = self._innermost(line)
        while found and line < found[2]:
            if found[0] == found[2]:
                break
            found = self._innermost(found[0] - 1, containing=line)
        return found[3] if found else MODULE

    def _innermost(
        self, line: int, containing: int | None = None
    ) -> tuple[int, int, int, str] | None:
        wanted = line if containing is None else containing
        for place in range(bisect.bisect_right(self._starts, line) - 1, -1, -1):
            if self._spans[place][1] >= wanted:
                return self._spans[place]
        return None


@functools.cache
def functions_of(source: bytes) -> Functions:
    """Return the functions of a source, parsed once."""
    return Functions(source)


def at_lines(source: bytes, lines: Iterable[int]) -> set[str]:
    """Return the functions that these lines belong to; MODULE for what is outside of all."""
    found = functions_of(source)
    return {found.at(line) for line in lines}


def known_below(name: str, known: Mapping[str, int]) -> set[str]:
    """Return a function, and the functions within it, as far as they are known."""
    return {each for each in known if each == name or each.startswith(f"{name}.")}
