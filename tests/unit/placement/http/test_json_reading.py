"""Parse JSON bodies (rest-api.md 1.4, JSON parsing)."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.errors import MalformedJSON
from placement.http.call import loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=50, deadline=None)
@given(VALUES, st.booleans())
def test_a_body_is_parsed_as_by_the_standard_library(value, ascii_only):
    body = json.dumps(value, ensure_ascii=ascii_only)
    read = loads(body.encode())
    assert repr(read) == repr(json.loads(body))


@pytest.mark.parametrize(
    "number",
    [2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30, 12345678901234567890123],
)
def test_long_integers_are_not_rounded(number):
    assert loads(b'{"n": %d}' % number) == {"n": number}


def test_of_a_key_that_repeats_the_last_value_counts():
    assert loads(b'{"a": 1, "b": 2, "a": 3}') == {"a": 3, "b": 2}


def test_nan_is_accepted():
    assert math.isnan(loads(b'{"ratio": NaN}')["ratio"])


@pytest.mark.parametrize(("literal", "value"), [(b"Infinity", math.inf), (b"-Infinity", -math.inf)])
def test_infinity_is_accepted(literal, value):
    assert loads(literal) == value


@pytest.mark.parametrize("literal", [b"4.0", b"1e2"])
def test_whole_floats_stay_floats(literal):
    assert isinstance(loads(literal), float)


def malformed(body):
    with pytest.raises(MalformedJSON) as refused:
        loads(body)
    return refused.value.message


def test_a_byte_order_mark_is_malformed():
    assert "BOM" in malformed(b'\xef\xbb\xbf{"a": 1}')


def test_invalid_utf_8_is_malformed():
    assert "'utf-8' codec can't decode" in malformed(b'{"a": "\xff"}')


def test_an_empty_body_is_malformed():
    assert malformed(b"") == "Malformed JSON: Expecting value: line 1 column 1 (char 0)"


@pytest.mark.parametrize("body", [b"{", b"[1,]", b"{'a': 1}", b'{"a": 1} x', b"01", b'"\n"'])
def test_broken_json_is_malformed_with_the_standard_library_s_message(body):
    with pytest.raises(json.JSONDecodeError) as words:
        json.loads(body)
    assert malformed(body) == f"Malformed JSON: {words.value}"


@pytest.mark.parametrize("body", [b'{"name": "\\ud800"}', b'{"\\udfff": 1}', b'["\\udc00\\ud800"]'])
def test_half_a_surrogate_pair_is_malformed(body):
    assert "surrogates not allowed" in malformed(body)


def test_a_whole_surrogate_pair_is_a_character():
    assert loads(b'"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_json_that_is_nested_too_deeply_is_malformed(opening):
    assert malformed(opening * 100_000).startswith("Malformed JSON: ")
