"""Of several errors, the same one is reported as by jsonschema, with the same message."""

import itertools

import jsonschema
import pytest
from jsonschema.exceptions import best_match

from placement.schemas.json_schema import Schema

RECORD = {
    "type": "object",
    "properties": {
        "total": {"type": "integer"},
        "more": {"type": "array", "items": {"minimum": 1}},
    },
    "additionalProperties": False,
}
SHAPES = {
    "an object": {"type": "object", "patternProperties": {"^[A-Z]$": RECORD}},
    "a list": {"type": "array", "items": RECORD},
    "a list of lists": {"type": "array", "items": {"type": "array", "items": RECORD}},
}
#: valid records, invalid ones, and ones with errors at a greater depth
RECORDS = [{"total": 1}, 5, {"x": 1}, {"total": "1"}, {"more": [1, 0]}, {"total": "1", "more": [0]}]


def filled(shape, records):
    match shape:
        case "an object":
            return dict(zip("BAC", records, strict=True))
        case "a list":
            return list(records)
    return [[records[0]], list(records[1:])]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_reported_error_is_the_last_of_those_nearest_to_the_root(shape):
    schema, plain = Schema(SHAPES[shape]), jsonschema.Draft202012Validator(SHAPES[shape])
    for records in itertools.product(RECORDS, repeat=3):
        value = filled(shape, records)
        error = best_match(plain.iter_errors(value))

        assert schema.why_not(value) == (None if error is None else str(error))
