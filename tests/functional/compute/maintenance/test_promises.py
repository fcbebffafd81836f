"""Each promise of the pages for operators has a test that tries to break it."""

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
    """Return the names of the tests in a file."""
    if not path.is_file():
        return ()
    tree = ast.parse(path.read_text())
    return tuple(one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))


def is_there(test):
    file, _, name = test.partition("::")
    path = ROOT / file if file.startswith("tests/") else HERE / file
    return name in names_in(path) if name else path.is_file()


@pytest.mark.parametrize("page", PROMISES)
def test_the_page_still_says_it(page):
    words = " ".join(text_of(page).split())
    assert [promise for promise in PROMISES[page] if promise not in words] == []


def test_each_named_test_exists():
    tests = {test for page in PROMISES.values() for several in page.values() for test in several}
    assert sorted(test for test in tests if not is_there(test)) == []
