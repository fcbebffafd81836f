"""The rule that two providers never have the same uuid or the same name (rest-api.md 3.1)."""

import pytest

from placement.domain.provider_names import refuse_taken
from placement.errors import DuplicateName

FREE = {
    "nothing is stored": ({}, {"a": "one"}, {}, ()),
    "two swap their names": ({"a": "one", "b": "two"}, {}, {"a": "two", "b": "one"}, ()),
    "a name that another one gives up": ({"a": "one"}, {"b": "one"}, {"a": "two"}, ()),
    "the name of a removed provider": ({"a": "one"}, {"b": "one"}, {"c": "two"}, {"a"}),
    "another spelling of the own name": ({"a": "one"}, {}, {"a": "ONE"}, ()),
}
TAKEN = {
    "the uuid exists": ({"a": "x"}, {"a": "one"}, {}, (), "uuid: a already"),
    "the uuid and the name exist": ({"a": "one"}, {"a": "one"}, {}, (), "uuid: a already"),
    "the uuid of a removed provider": ({"a": "x"}, {"a": "one"}, {}, {"a"}, "uuid: a already"),
    "the name exists": ({"a": "one"}, {"b": "one"}, {}, (), "name: one already"),
    "the name exists in another spelling": (
        {"a": "ONE "},
        {"b": "two", "c": "one"},
        {},
        (),
        "name: one already",
    ),
    "a new name exists": ({"a": "one"}, {}, {"b": "one"}, (), "one already"),
    "two new ones have the same name": ({}, {"a": "x", "b": "x"}, {}, (), "name: x already"),
    "two get the same name": ({}, {}, {"a": "x", "b": "x"}, (), "x already"),
    "one gets the name of a new one": ({}, {"a": "x"}, {"b": "x"}, (), "x already"),
    "a name that is given up twice over": (
        {"a": "one"},
        {"b": "one"},
        {"a": "two", "c": "one"},
        (),
        "one already",
    ),
}


@pytest.mark.parametrize("case", FREE.values(), ids=FREE)
def test_these_names_are_free(case):
    refuse_taken(*case)


@pytest.mark.parametrize("case", TAKEN.values(), ids=TAKEN)
def test_these_names_are_taken(case):
    *given, words = case
    with pytest.raises(DuplicateName, match=f"^Conflicting resource provider (.* )?{words}"):
        refuse_taken(*given)
