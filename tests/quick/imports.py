"""Which files import which, as their import statements say."""

import ast
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tests.quick.record import PACKAGES

#: where files of Python are that import each other
FOLDERS = (*PACKAGES, "tests")


class Imports:
    """The imports between the files of a repository, those within functions included."""

    def __init__(self, root: Path) -> None:
        self._importers: dict[str, set[str]] = {}
        for folder in FOLDERS:
            for file in sorted((root / folder).rglob("*.py")):
                path = str(file.relative_to(root))
                for module in _imported(path, file.read_bytes()):
                    self._importers.setdefault(module, set()).add(path)

    def importers(self, path: str) -> set[str]:
        """Return the files that import a file."""
        module = _module(path)
        return self._importers.get(module, set()) - {path}

    def all_importers(self, path: str) -> set[str]:
        """Return the files that import a file, or import one that does, and so on."""
        found: set[str] = set()
        ahead = [path]
        while ahead:
            fresh = self.importers(ahead.pop()) - found
            found |= fresh
            ahead += fresh
        return found


def _module(path: str) -> str:
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: str, source: bytes) -> Iterable[str]:
    """Yield the names of modules that a file may import; some are names within a module."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    package = PurePosixPath(path).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.partition(".")[0] in FOLDERS
        ):
            # a plugin of pytest, or an entry point, that is named and imported later
            yield node.value.partition(":")[0]
