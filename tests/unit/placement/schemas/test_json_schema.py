"""Schemas and their messages (rest-api.md 1.4, 3.15)."""

import importlib.util
import math

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.schemas import (
    aggregates,
    allocations,
    inventories,
    reshaper,
    resource_classes,
    resource_providers,
    schema_messages,
    traits,
    usages,
)
from placement.schemas.json_schema import INTEGER, UUID, Schema, closed_object, pick
from tests.extent import examples

A = "a0000000-0000-4000-8000-000000000001"
FAMILIES = (
    aggregates,
    allocations,
    inventories,
    reshaper,
    resource_classes,
    resource_providers,
    traits,
    usages,
)


def tables():
    for family in FAMILIES:
        for name, table in vars(family).items():
            if isinstance(table, dict) and all(isinstance(s, Schema) for s in table.values()):
                for version, schema in table.items():
                    yield pytest.param(schema, id=f"{family.__name__}.{name}-{version[1]}")


SCHEMAS = list(tables())


def why_not(schema, value):
    return Schema(schema).why_not(value)


@pytest.mark.parametrize(
    ("schema", "value", "message", "keyword"),
    [
        (closed_object({"a": INTEGER}, ["a"]), {}, "'a' is a required property", "required"),
        (
            closed_object({}),
            {"x": 1},
            "Additional properties are not allowed ('x' was unexpected)",
            "additionalProperties",
        ),
        (INTEGER, "4", "'4' is not of type 'integer'", "type"),
        (INTEGER, True, "True is not of type 'integer'", "type"),
        (INTEGER, 4.5, "4.5 is not of type 'integer'", "type"),
        (UUID, "abc", "'abc' is not a 'uuid'", "format"),
        ({"minimum": 0}, -1, "-1 is less than the minimum of 0", "minimum"),
        ({"maximum": 9}, 10, "10 is greater than the maximum of 9", "maximum"),
        ({"minItems": 1}, [], "[] should be non-empty", "minItems"),
        ({"minProperties": 1}, {}, "{} should be non-empty", "minProperties"),
        ({"minLength": 1}, "", "'' should be non-empty", "minLength"),
        ({"maxLength": 1}, "ab", "'ab' is too long", "maxLength"),
        ({"uniqueItems": True}, ["a", "a"], "['a', 'a'] has non-unique elements", "uniqueItems"),
        ({"pattern": "^A$"}, "B", "'B' does not match '^A$'", "pattern"),
    ],
)
def test_the_message_is_jsonschema_s(schema, value, message, keyword):
    reason = why_not(schema, value)
    assert reason.startswith(f"{message}\n\nFailed validating '{keyword}' in schema")


def test_the_message_names_the_place_in_schema_and_value():
    reason = why_not(closed_object({"total": {"minimum": 1}}), {"total": 0})
    assert "in schema['properties']['total']:" in reason
    assert "On instance['total']:" in reason


def test_a_valid_value_has_no_message():
    assert why_not(closed_object({"a": INTEGER}, ["a"]), {"a": 4}) is None


def test_a_whole_float_is_an_integer():
    assert why_not(INTEGER, 4.0) is None


def test_a_pattern_accepts_one_newline_at_the_end():
    assert why_not({"pattern": "^[A-Z]+$"}, "A\n") is None


@pytest.mark.parametrize(
    "spelling", [A.upper(), A.replace("-", ""), "{" + A + "}", f"urn:uuid:{A}"]
)
def test_bodies_accept_a_uuid_in_any_spelling(spelling):
    assert why_not(UUID, spelling) is None


@pytest.mark.parametrize("spelling", [A.replace("-", ""), "{" + A + "}", f"urn:uuid:{A}"])
def test_queries_accept_a_uuid_with_dashes_only(spelling):
    reason = Schema(UUID, strict_uuids=True).why_not(spelling)
    assert reason.startswith(f"'{spelling}' is not a 'uuid'")


def test_queries_accept_a_uuid_in_upper_case():
    assert Schema(UUID, strict_uuids=True).why_not(A.upper()) is None


def test_the_format_of_a_value_that_is_not_text_is_not_checked():
    assert why_not({"format": "uuid"}, 5) is None


@pytest.mark.parametrize("depth", [500, 900])
def test_a_value_that_is_nested_too_deeply_is_rejected(depth):
    value = []
    for _ in range(depth):
        value = [value]
    assert why_not(INTEGER, value) == "nested too deeply"


#: values similar to bodies of the service, and some others
TEXTS = st.sampled_from(
    [
        *(A, A.upper(), A.replace("-", ""), "-" * 36),
        *("VCPU", "CUSTOM_A", "VCPU\n", "vcpu", "all", "allfoo", "unknown"),
        *("", "p", "\u2603", "x" * 201, "x" * 256),
    ]
)
NUMBERS = st.sampled_from(
    [0, 1, -1, 4.0, 4.5, True, 2**31 - 1, 2**31, 2**64, 10**400, 1e39, math.nan, math.inf, -0.0]
)
KEYS = TEXTS | st.sampled_from(
    [
        *("name", "uuid", "parent_provider_uuid", "allocations", "resources", "resource_provider"),
        *("project_id", "user_id", "consumer_generation", "consumer_type", "mappings"),
        *("inventories", "resource_provider_generation", "total", "reserved", "allocation_ratio"),
        *("resource_class", "aggregates", "traits", "required", "associated"),
    ]
)
VALUES = st.recursive(
    st.none() | TEXTS | NUMBERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


def fitting(schema):
    """Return a strategy for values built along a schema, many of which are valid."""
    if "anyOf" in schema:
        return st.one_of(*(fitting(choice) for choice in schema["anyOf"])) | VALUES
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    choices = [VALUES]
    if "object" in kinds:
        given_keys = schema.get("properties", {})
        named = {key: fitting(below) for key, below in given_keys.items()}
        required = {key: named.pop(key) for key in schema.get("required", [])}
        for below in schema.get("patternProperties", {}).values():
            choices.append(st.dictionaries(TEXTS, fitting(below), max_size=2))
        if given_keys:
            choices.append(st.fixed_dictionaries(required, optional=named))
    if "array" in kinds:
        choices.append(st.lists(fitting(schema.get("items", {})), max_size=3))
    if {"integer", "number"} & set(kinds):
        choices.append(NUMBERS)
    if "string" in kinds:
        choices.append(TEXTS)
    return st.one_of(*choices[1:], *choices[:1])


@pytest.mark.parametrize("schema", SCHEMAS)
@settings(max_examples=examples(8, 40), deadline=None)
@given(data=st.data())
def test_the_native_check_never_accepts_what_jsonschema_rejects(schema, data):
    value = data.draw(fitting(schema.source))
    why = schema_messages.why_not(schema.source, schema.strict_uuids, value, schema.exact_ends)
    assert schema.why_not(value) == why


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"A": 1, "n": "5"}, None),
        ({"n": "5\n"}, "'5\\n' does not match '^[0-9]+$'"),
        ({"n": "5\n\n"}, "'5\\n\\n' does not match '^[0-9]+$'"),
        ({"A\n": 1}, "'A\\n' does not match any of the regexes: '^[A-Z]+$'"),
    ],
)
def test_the_end_of_a_pattern_is_exact_where_the_reference_has_nothing(value, told):
    source = {
        "properties": {"n": {"type": "string", "pattern": "^[0-9]+$"}},
        "patternProperties": {"^[A-Z]+$": {}},
        "additionalProperties": False,
    }
    why = Schema(source, exact_ends=True).why_not(value)
    assert (None if why is None else why.partition("\n")[0].split(", ")[-1]) == told
    assert why is None or "?!" not in why
    # elsewhere one newline may follow, as in the reference
    if not any("\n\n" in str(one) for one in value.values()):
        assert Schema(source).why_not(value) is None


def test_results_are_the_same_without_the_native_check(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    schema = Schema(INTEGER)
    assert schema.why_not(4) is None
    assert schema.why_not("4").startswith("'4' is not of type 'integer'")


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_schema_is_a_valid_schema(schema):
    assert jsonschema.Draft202012Validator.check_schema(schema.source) is None


@pytest.mark.parametrize(
    ("version", "entry"),
    [((1, 0), "first"), ((1, 9), "first"), ((1, 10), "tenth"), ((1, 39), "tenth")],
)
def test_the_newest_entry_not_above_the_version_is_picked(version, entry):
    assert pick({(1, 0): "first", (1, 10): "tenth"}, version) == entry
