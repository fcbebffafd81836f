"""Each promise of the pages for operators has a test that tries to break it, in an ordinary run."""

import ast
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.page_code import text_of

HERE = Path(__file__).parent
ROOT = HERE.parents[3]


class EachKeyOnce(yaml.SafeLoader):
    """Refuses a mapping with a key that stands twice: YAML's own reader drops the first."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        assert not twice, f"stands twice, the second time before line {node.end_mark.line}: {twice}"
        return super().construct_mapping(node, deep)


PROMISES = yaml.load((HERE / "promises.yaml").read_text(), EachKeyOnce)


@cache
def names_in(path):
    """Return the names of the tests in a file, and whether each runs in an ordinary run."""
    return dict(_named(ast.parse(path.read_text()).body)) if path.is_file() else {}


def _named(body, ordinary=True):
    """Yield the tests of a module or class; a mark of either holds for all its tests."""
    marks = [one.value for one in body if isinstance(one, ast.Assign) and _is_of_marks(one)]
    ordinary = ordinary and not any(map(_is_thorough, marks))
    for one in body:
        if isinstance(one, ast.ClassDef | ast.FunctionDef):
            runs = ordinary and not any(map(_is_thorough, one.decorator_list))
            if isinstance(one, ast.ClassDef):
                yield from _named(one.body, runs)
            else:
                yield one.name, runs


def _is_of_marks(assigned):
    return "pytestmark" in [getattr(target, "id", "") for target in assigned.targets]


def _is_thorough(marks):
    several = marks.elts if isinstance(marks, ast.List | ast.Tuple) else [marks]
    return "pytest.mark.thorough" in map(ast.unparse, several)


def runs(test):
    """Return whether an ordinary run has the test; None: there is none of this name."""
    file, _, name = test.partition("::")
    path = ROOT / file if file.startswith("tests/") else HERE / file
    return names_in(path).get(name) if name else path.is_file() or None


@pytest.mark.parametrize("page", PROMISES)
def test_the_page_still_says_it(page):
    words = " ".join(text_of(page).split())
    assert [promise for promise in PROMISES[page] if promise not in words] == []


def test_each_named_test_exists():
    tests = {test for page in PROMISES.values() for several in page.values() for test in several}
    assert sorted(test for test in tests if runs(test) is None) == []


def test_an_ordinary_run_tries_to_break_each():
    """Deep has more, with more databases and kills."""
    promises = [promise for page in PROMISES.values() for promise in page.items()]
    assert [promise for promise, tests in promises if not any(map(runs, tests))] == []
