"""What is done to a node of the product's code to get a mutant of it.

The list is ours: mutmut and cosmic-ray don't drop statements, conditions or operands, and their
runners start Python anew for each mutant. Words aren't changed, nor what only people read.
"""

import ast
import re
from collections.abc import Iterator

from tests.mutants.mutant import Source

#: start, end, the texts that can stand there instead, what is done
Change = tuple[int, int, tuple[str, ...], str]

_COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


def changes(node: ast.AST, source: Source) -> Iterator[Change]:
    """Yield the changes of one node; those of the nodes within it aren't among them."""
    for kind, change in _OF_NODE.items():
        if isinstance(node, kind):
            yield from change(node, source)


def _comparison(node: ast.Compare, source: Source) -> Iterator[Change]:
    for left, operator, right in zip(
        [node.left, *node.comparators], node.ops, node.comparators, strict=False
    ):
        pattern, others = _COMPARISONS[type(operator)]
        word = pattern if pattern[0] in "<>=!" else rf"\b{pattern}\b"
        start, end = _between(left, right, word, source)
        yield start, end, others, "comparison"


def _connection(node: ast.BoolOp, source: Source) -> Iterator[Change]:
    word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        start, end = _between(left, right, rf"\b{word}\b", source)
        yield start, end, (other,), "and, or"
    for value in node.values:
        # as if it weren't there
        neutral = "True" if word == "and" else "False"
        yield source.start(value), source.end(value), (neutral,), "dropped operand"


def _prefix(node: ast.UnaryOp, source: Source) -> Iterator[Change]:
    start, end = source.start(node), source.end(node)
    if isinstance(node.op, ast.Not):
        rest = source.bytes[start + len("not") : end].decode().strip()
        yield start, end, (f"({rest})",), "dropped not"
    elif isinstance(node.op, ast.USub | ast.Invert):
        rest = source.bytes[start + 1 : end].decode().strip()
        yield start, end, (rest,), "dropped sign"


def _arithmetic(node: ast.BinOp, source: Source) -> Iterator[Change]:
    if _is_text(node.left) or _is_text(node.right):
        return
    sign, other = _ARITHMETIC[type(node.op)]
    start, end = _between(node.left, node.right, re.escape(sign), source)
    yield start, end, (other,), "arithmetic"
    whole = source.start(node), source.end(node)
    yield *whole, (f"({source.text(node.left)})",), "dropped operand"


def _constant(node: ast.Constant, source: Source) -> Iterator[Change]:
    value = node.value
    others: tuple[str, ...] = ()
    if isinstance(value, bool):
        others = (str(not value),)
    elif isinstance(value, int):
        others = (str(value + 1), str(value - 1)) if value > 0 else (str(value + 1),)
    elif isinstance(value, float):
        others = (repr(value * 2),) if value else ("1.0",)
    if others:
        yield source.start(node), source.end(node), others, "constant"


def _condition(node: ast.If | ast.While | ast.IfExp, source: Source) -> Iterator[Change]:
    start, end = source.start(node.test), source.end(node.test)
    always = ("False",) if isinstance(node, ast.While) else ("True", "False")
    yield start, end, always, "condition"
    if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
        yield start, end, (f"not ({source.text(node.test)})",), "added not"


def _filter(node: ast.comprehension, source: Source) -> Iterator[Change]:
    for test in node.ifs:
        yield source.start(test), source.end(test), ("True",), "dropped filter"


def _loop(node: ast.For, source: Source) -> Iterator[Change]:
    yield source.start(node.iter), source.end(node.iter), ("()",), "no turn of the loop"


def _result(node: ast.Return, source: Source) -> Iterator[Change]:
    if node.value is None:
        yield source.start(node), source.end(node), ("pass",), "dropped statement"
    elif not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield source.start(node.value), source.end(node.value), ("None",), "returned None"


def _call(node: ast.Call, source: Source) -> Iterator[Change]:
    if not isinstance(node.func, ast.Name):
        return
    other = _CALLS.get(node.func.id)
    if node.func.id == "sorted" and len(node.args) == 1 and not node.keywords:
        other = "list"
    if other is not None:
        yield source.start(node.func), source.end(node.func), (other,), "another function"


def _statement(node: ast.stmt, source: Source) -> Iterator[Change]:
    if _is_needless(node):
        yield source.start(node), source.end(node), ("pass",), "dropped statement"
    elif isinstance(node, ast.Continue):
        yield source.start(node), source.end(node), ("break",), "break"
    if isinstance(node, ast.AugAssign) and not _is_text(node.value):
        sign, other = _ARITHMETIC[type(node.op)]
        start, end = _between(node.target, node.value, re.escape(sign), source)
        yield start, end, (other,), "arithmetic"


def _is_needless(node: ast.stmt) -> bool:
    """Say whether Python can do without a statement: nothing else has its name from it."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Await)
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets)
    return isinstance(node, ast.AugAssign | ast.Delete | ast.Raise | ast.Break)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _between(left: ast.expr, right: ast.expr, pattern: str, source: Source) -> tuple[int, int]:
    """Return where an operator stands between its operands."""
    begin = source.end(left)
    found = re.compile(pattern.encode()).search(source.bytes, begin, source.start(right))
    assert found is not None, (pattern, source.line(begin))
    return found.span()


_OF_NODE = {
    ast.Compare: _comparison,
    ast.BoolOp: _connection,
    ast.UnaryOp: _prefix,
    ast.BinOp: _arithmetic,
    ast.Constant: _constant,
    ast.If: _condition,
    ast.While: _condition,
    ast.IfExp: _condition,
    ast.comprehension: _filter,
    ast.For: _loop,
    ast.Return: _result,
    ast.Call: _call,
    ast.stmt: _statement,
}
