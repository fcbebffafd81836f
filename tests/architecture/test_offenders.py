"""A test of a rule for many cases names each case that breaks it."""

import pytest

from tests.offenders import assert_each, assert_none


def is_even(number):
    assert 6 % number == 0
    assert number % 2 == 0, f"{number} is odd"


def test_every_offender_has_a_line():
    names = [f"a file with a long name, number {number}" for number in range(100)]
    with pytest.raises(AssertionError) as raised:
        assert_none(name for name in names)
    assert str(raised.value).splitlines() == ["100 against the rule:", *names]


def test_without_an_offender_the_rule_holds():
    assert_none([])
    assert_each({"two": (2,), "six": (6,)}, is_even)


def test_each_case_that_fails_is_named_with_what_it_says():
    with pytest.raises(AssertionError) as raised:
        assert_each({"one": (1,), "two": (2,), "three": (3,)}, is_even)
    assert str(raised.value) == (
        "2 of 3 against the rule:\none: 1 is odd\n    assert (1 % 2) == 0\n"
        "three: 3 is odd\n    assert (3 % 2) == 0"
    )
    assert str(raised.value.__cause__).startswith("1 is odd")


def test_a_case_that_raises_something_else_hides_no_other():
    with pytest.raises(AssertionError, match=r"(?s)none: ZeroDivisionError: .*\none: 1 is odd"):
        assert_each({"none": (0,), "one": (1,)}, is_even)


def test_a_case_that_raises_nothing_where_it_has_to_is_an_offender():
    def fails(number):
        with pytest.raises(ZeroDivisionError):
            is_even(number)

    with pytest.raises(AssertionError, match="1 of 2 against the rule:\ntwo: DID NOT RAISE"):
        assert_each({"none": (0,), "two": (2,)}, fails)


def test_a_rule_that_looks_at_nothing_fails():
    with pytest.raises(AssertionError, match="there is no case"):
        assert_each({}, is_even)
