"""Functions that get a mutant's code after they were imported (tests/mutants)."""

import gc
import runpy

import pytest

from tests.mutants.swapping import Calls, Functions

PATH = "thing.py"
SOURCE = """\
import functools


def started(a):
    return a


START = started(1)


def several(
    a, b=1
):
    a.append(
        b
    )
    return [each for each in a if each]


@functools.cache
def cached(a):
    return lambda: a + 1


class Base:
    size = 5


class Thing(Base):
    size = 3

    @property
    def twice(self):
        return 2 * super().size
"""


@pytest.fixture(autouse=True)
def _old_objects_are_left_out(monkeypatch):
    """Have only what is new looked at: of all tests there are millions of frozen objects."""
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)


@pytest.fixture
def imported(tmp_path):
    """Return what the file has, and the functions that are there."""
    (tmp_path / PATH).write_text(SOURCE)
    with Calls(tmp_path) as calls:
        names = runpy.run_path(str(tmp_path / PATH))
    return names, Functions(tmp_path, calls.made)


def become(functions, before, after):
    assert SOURCE.count(before) == 1
    return functions.become(PATH, SOURCE, SOURCE.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after", "result"),
    [
        ("a.append(\n        b\n    )", "pass", ([2], 3, 10)),
        ("in a if each", "in a if True", ([2, 0, 1], 3, 10)),
        ("a + 1", "a - 1", ([2, 1], 1, 10)),
        ("2 * super()", "3 * super()", ([2, 1], 3, 15)),
    ],
)
def test_a_function_does_what_the_mutant_does(imported, before, after, result):
    names, functions = imported

    assert become(functions, before, after)

    assert (names["several"]([2, 0]), names["cached"](2)(), names["Thing"]().twice) == result


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    return a\n", "    return None\n"),
        ("b=1", "b=2"),
        ("size = 3", "size = 4"),
        ("2 * super().size", "2"),
        ("functools.cache\n", "functools.lru_cache\n"),
    ],
)
def test_what_was_done_at_the_import_needs_another_one(imported, before, after):
    names, functions = imported

    assert not become(functions, before, after)

    assert (names["several"]([]), names["Thing"]().twice) == ([1], 10)


def test_what_is_not_imported_yet_is_not_changed(tmp_path):
    assert not Functions(tmp_path, set()).become(PATH, SOURCE, SOURCE.replace("a + 1", "a - 1"))
