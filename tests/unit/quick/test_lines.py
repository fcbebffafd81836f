"""The lines that `tests/quick/test_one_line.py` changes, in a long run, are in the product."""

from tests.offenders import assert_none
from tests.quick.test_one_line import CHANGES, ROOT


def test_each_line_is_there_to_be_changed():
    assert_none(
        f"{path}: {line}"
        for path, line, _ in CHANGES
        if line not in (ROOT / path).read_text().split("\n")
    )
