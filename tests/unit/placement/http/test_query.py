"""Parse query strings (rest-api.md 1.8)."""

import pytest

from placement.errors import BadQuery, DuplicateKey
from placement.http.query import Query


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", []),
        ("a=1&b=2", [("a", "1"), ("b", "2")]),
        ("a=1;b=2", [("a", "1"), ("b", "2")]),
        ("a", [("a", "")]),
        ("a=", [("a", "")]),
        ("=x", [("", "x")]),
        ("a=b=c", [("a", "b=c")]),
        ("&&a=1;;", [("a", "1")]),
        ("a+b=c+d", [("a b", "c d")]),
        ("a=%2B%26%3B", [("a", "+&;")]),
        ("a=100%", [("a", "100%")]),
        ("a=%zz", [("a", "%zz")]),
        ("name=%E2%98%83", [("name", "\u2603")]),
    ],
)
def test_a_query_is_read_in_order(text, pairs):
    assert Query(text).pairs == pairs


def test_bytes_that_a_client_did_not_escape_are_utf_8_too():
    as_wsgi_gives_it = "name=\u2603".encode().decode("latin-1")
    assert Query(as_wsgi_gives_it).get("name") == "\u2603"


@pytest.mark.parametrize("text", ["a=%FF", "%C3=1", "a=\xff"])
def test_other_encodings_than_utf_8_are_rejected(text):
    with pytest.raises(BadQuery, match="'utf-8' codec can't decode"):
        Query(text)


def test_of_a_repeated_parameter_the_last_value_counts():
    query = Query("a=1&b=2&a=3")
    assert (query.get("a"), query.last()) == ("3", {"a": "3", "b": "2"})


def test_all_values_of_a_repeated_parameter_are_available():
    assert Query("a=1&b=2&a=3").all("a") == ["1", "3"]


def test_a_missing_parameter_has_no_value():
    query = Query("a=1")
    assert (query.get("b"), query.all("b"), "b" in query, "a" in query) == (None, [], False, True)


@pytest.mark.parametrize("text", ["a=1&b=2&a=3", "a=1;a=1", "c=1&c=1&%61=1&a=2&b=3"])
def test_a_parameter_that_may_be_given_only_once_is_named(text):
    with pytest.raises(DuplicateKey, match="'a' may be specified only once"):
        Query(text).refuse_repeated(["b", "a"])


def test_parameters_given_once_are_no_repetition():
    Query("a=1&b=2&c=3&c=4").refuse_repeated(["a", "b", "d"])
