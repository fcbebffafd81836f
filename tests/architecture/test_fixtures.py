"""A fixture that all tests have is one fixture."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests import conftest
from tests.architecture import source
from tests.architecture.files import shown
from tests.offenders import assert_none

TESTS = Path(__file__).parents[1]


def _fixtures(module: str) -> Iterator[str]:
    """Yield the full names of a module's fixtures."""
    path = TESTS.parent / f"{module.replace('.', '/')}.py"
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and any(map(_is_fixture, node.decorator_list)):
            yield f"{module}.{node.name}"


def _is_fixture(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith("pytest.fixture")


def test_no_module_imports_what_all_tests_have() -> None:
    """A module that imports it has one of its own: two would start and stop one process."""
    everywhere = {name for module in conftest.pytest_plugins for name in _fixtures(module)}
    assert "tests.functional.forked.forking" in everywhere
    assert_none(
        f"{shown(path)}: {name}"
        for path in TESTS.rglob("*.py")
        for name in source.read(path).imported & everywhere
    )
