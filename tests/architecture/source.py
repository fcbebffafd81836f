"""A file of Python as the rules of imports see it."""

import ast
import functools
import pathlib
from dataclasses import dataclass, field


@dataclass
class Source:
    """What the rules ask of a file. The syntax trees of all files would take 100 MB."""

    #: modules, and names in modules, by full name
    imported: set[str] = field(default_factory=set)
    #: imports that begin with a dot
    relative: list[str] = field(default_factory=list)
    #: names that it defines itself, and names that it uses of other objects
    defined: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def note(self, node: ast.AST) -> None:
        """Note what a node of the syntax tree has of these."""
        match node:
            case ast.Import():
                self.imported |= {alias.name for alias in node.names}
            case ast.ImportFrom():
                names = {alias.name for alias in node.names}
                self.used |= names
                if node.level:
                    self.relative.append(ast.unparse(node))
                else:
                    self.imported |= {f"{node.module}.{name}" for name in names}
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.defined.add(node.name)
            case ast.Name(ctx=ast.Store()):
                self.defined.add(node.id)
            case ast.Attribute():
                self._note_attribute(node)

    def _note_attribute(self, node: ast.Attribute) -> None:
        """Note an attribute; `self._name`, `cls._name` and `super()._name` are an object's own."""
        owner = node.value.func if isinstance(node.value, ast.Call) else node.value
        if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls", "super")):
            self.used.add(node.attr)
        elif isinstance(node.ctx, ast.Store):
            self.defined.add(node.attr)


@functools.cache
def read(path: pathlib.Path) -> Source:
    """Return what the rules ask of a file, which is parsed once."""
    source = Source()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        source.note(node)
    return source
