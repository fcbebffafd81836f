"""A file of Python as the rules of the architecture see it."""

import ast
import functools
import pathlib
import re
from dataclasses import dataclass, field

from tests.architecture.files import text_of

#: a key of a flavor's extra specs
_KEY = re.compile(r"(hw|os|accel|pci_passthrough):.*|(resources|trait)[\w-]*:[A-Z].*")


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
    #: names of the classes that it defines, one for each definition
    classes: list[str] = field(default_factory=list)
    #: whether it begins with a docstring
    says_what_it_is: bool = False
    #: where it names extra specs of flavors, or one of their keys: numbers of lines
    extra_specs: set[int] = field(default_factory=set)

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
            case ast.ClassDef():
                self.defined.add(node.name)
                self.classes.append(node.name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.defined.add(node.name)
            case ast.Name(ctx=ast.Store()):
                self.defined.add(node.id)
            case ast.Attribute():
                self._note_attribute(node)
        if _names_extra_specs(node):
            self.extra_specs.add(node.lineno)  # type: ignore[attr-defined]

    def _note_attribute(self, node: ast.Attribute) -> None:
        """Note an attribute; `self._name`, `cls._name` and `super()._name` are an object's own."""
        owner = node.value.func if isinstance(node.value, ast.Call) else node.value
        if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls", "super")):
            self.used.add(node.attr)
        elif isinstance(node.ctx, ast.Store):
            self.defined.add(node.attr)


def _names_extra_specs(node: ast.AST) -> bool:
    match node:
        case (
            ast.Attribute(attr="extra_specs")
            | ast.keyword(arg="extra_specs")
            | ast.arg(arg="extra_specs")
            | ast.AnnAssign(target=ast.Name(id="extra_specs"))
        ):
            return True
        case ast.Constant(value=str(text)):
            return _KEY.fullmatch(text) is not None
    return False


@functools.cache
def read(path: pathlib.Path) -> Source:
    """Return what the rules ask of a file, which is parsed once."""
    tree = ast.parse(text_of(path))
    source = Source(says_what_it_is=ast.get_docstring(tree) is not None)
    for node in ast.walk(tree):
        source.note(node)
    return source
