"""The quick check of bodies never lets through what jsonschema refuses."""

import hypothesis.strategies as st
import jsonschema
import pytest
from hypothesis import given

from placement.errors import MalformedJSON
from placement.http.json_body import loads
from placement.schemas.requests import BODIES
from tests.properties.fuzz_json import fitting, spoiled, written
from tests.properties.test_fuzz import FUZZING

SCHEMAS = {
    f"{method} {path} {version[0]}.{version[1]}": schema
    for (path, method), table in BODIES.items()
    for version, schema in table.items()
}


@pytest.mark.parametrize("name", SCHEMAS)
@FUZZING
@given(data=st.data())
def test_the_quick_check_is_no_laxer_than_the_thorough_one(name, data):
    schema = SCHEMAS[name]
    value = data.draw(fitting(schema.source))
    for _ in range(data.draw(st.integers(0, 2))):
        value = data.draw(spoiled(value))
    try:
        body = loads(written(value).encode())
    except MalformedJSON:
        return
    thorough = jsonschema.Draft202012Validator(
        schema.source, format_checker=schema._validator.format_checker
    )
    try:
        expected = thorough.is_valid(body)
    except RecursionError:
        expected = False
    assert (schema.why_not(body) is None) == expected
