"""Which function a line belongs to, and which one runs while it is executed."""

import pytest

from tests.quick.functions import MODULE, Functions, at_lines, known_below

SOURCE = """\
LIMIT = 3


@decorated(
    by=LIMIT,
)
def outer(
    one,
):
    text = "one"

    def inner():
        return text

    return inner


class Shape:
    sides = 3

    @property
    def area(self):
        return 1


def short(): return 2
"""
LINES = {text.strip(): number for number, text in enumerate(SOURCE.splitlines(), 1) if text.strip()}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("LIMIT = 3", MODULE),
        ("@decorated(", "outer"),
        ("one,", "outer"),
        ("return text", "outer.inner"),
        ("return inner", "outer"),
        ("sides = 3", MODULE),
        ("@property", "Shape.area"),
        ("return 1", "Shape.area"),
        ("def short(): return 2", "short"),
    ],
)
def test_a_line_belongs_to_the_innermost_function_with_its_decorators(line, name):
    assert Functions(SOURCE).at(LINES[line]) == name


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("@decorated(", MODULE),
        ("def outer(", MODULE),
        ('text = "one"', "outer"),
        ("def inner():", "outer"),
        ("return text", "outer.inner"),
        ("@property", MODULE),
        ("def area(self):", MODULE),
        ("return 1", "Shape.area"),
        ("def short(): return 2", "short"),
    ],
)
def test_a_definition_is_executed_by_what_stands_around_it(line, name):
    assert Functions(SOURCE).executing(LINES[line]) == name


def test_all_functions_have_names():
    assert Functions(SOURCE).names == {"outer", "outer.inner", "Shape.area", "short"}


def test_what_is_no_python_has_no_function():
    assert at_lines(b"def (", [1]) == {MODULE}


def test_a_change_of_a_function_concerns_those_within():
    known = {"outer": 1, "outer.inner": 2, "outermost": 4}
    assert known_below("outer", known) == {"outer", "outer.inner"}
