"""Where the product can be mutated, and a random choice of such places."""

import ast
import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.mutants.mutant import Mutant, Source
from tests.mutants.operators import changes
from tests.quick.functions import MODULE, functions_of

#: what is mutated
FOLDERS = (
    "placement/domain",
    "placement/candidates",
    "placement/operations",
    "placement/extensions",
    "compute/report",
    "compute/resource_tracker",
    "virt/reshape",
)


@dataclasses.dataclass(frozen=True)
class Place:
    """A place with the mutants that can be made there.

    :param number: which of the places in its function that look like it, from the top
    """

    mutants: tuple[Mutant, ...]
    number: int

    def drawn(self, seed: int) -> tuple[bytes, Mutant]:
        """Return a random rank and one of the mutants: the same for the same text and seed."""
        first = self.mutants[0]
        named = f"{seed}|{first.key}|{first.kind}|{self.number}"
        rank = hashlib.sha256(named.encode()).digest()
        return rank, self.mutants[rank[-1] % len(self.mutants)]


def places_of(path: str, source: bytes) -> list[Place]:
    """Return the places in the functions of a file, from the top."""
    text = Source(source)
    functions = functions_of(source)
    alike: Counter[object] = Counter()
    places = []
    for node in _mutable(text.tree):
        for start, end, others, kind in changes(node, text):
            line = text.line(start)
            function = functions.at(line)
            if function == MODULE:
                continue
            mutants = []
            for other in others:
                before, after = text.changed(start, end, other)
                made = Mutant(path, function, line, start, end, other, kind, before, after)
                mutants.append(made)
            look = mutants[0].key, kind
            places.append(Place(tuple(mutants), alike[look]))
            alike[look] += 1
    return places


def _mutable(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those within it, without what only people or tools read."""
    if _is_for_readers(node):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _mutable(child)


def _is_for_readers(node: ast.AST) -> bool:
    """Say whether a node is a text, a line of the log, a check, or for the type checker."""
    if isinstance(node, ast.JoinedStr | ast.Assert):
        return True
    if isinstance(node, ast.FunctionDef):
        return node.name == "__repr__"
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        return (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and function.value.id == "LOG"
        )
    return False


def all_places(root: Path, below: Iterable[str] = FOLDERS) -> list[Place]:
    """Return the places of all files below some folders, or in some files."""
    found: list[Place] = []
    for name in below:
        folder = root / name
        for file in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
            found += places_of(str(file.relative_to(root)), file.read_bytes())
    return found


def sampled(places: Iterable[Place], seed: int) -> list[Mutant]:
    """Return a mutant of each place, in random order; a change of one file moves no other's."""
    return [mutant for _, mutant in sorted((place.drawn(seed) for place in places), key=_rank)]


def _rank(drawn: tuple[bytes, Mutant]) -> bytes:
    return drawn[0]
