"""Spellings of uuids (rest-api.md 1.4)."""

import pytest

from placement.domain import uuids

PLAIN = "b0e1a2c3-0000-4000-8000-00000000abcd"
SPELLINGS = [
    PLAIN,
    PLAIN.upper(),
    PLAIN.replace("-", ""),
    "{" + PLAIN + "}",
    f"urn:uuid:{PLAIN}",
    "b-0e1a2c30000400080000000-0000abcd",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_usual_spelling_is_a_uuid(spelling):
    assert uuids.is_uuid_like(spelling)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_normal_spelling_is_dashed_and_lower_case(spelling):
    assert uuids.normalised(spelling) == PLAIN


@pytest.mark.parametrize(
    "value", ["", "x", PLAIN[:-1], PLAIN + "0", PLAIN.replace("a", "g"), PLAIN + "\n", None, 5, []]
)
def test_everything_else_is_no_uuid(value):
    assert not uuids.is_uuid_like(value)


def test_new_uuids_are_normalised_and_differ():
    first, second = uuids.new(), uuids.new()
    assert (uuids.normalised(first), first == second) == (first, False)
