"""The quick check of bodies lets nothing through that jsonschema refuses; its words are told."""

import hypothesis.strategies as st
import jsonschema
import pytest
from hypothesis import given
from jsonschema.exceptions import best_match

from placement.app import api
from placement.errors import MalformedJSON
from placement.http.call import loads
from placement.schemas.schema_messages import LENIENT_FORMATS, STRICT_FORMATS
from tests.properties.fuzz_json import fitting, spoiled, written
from tests.properties.test_fuzz import FUZZING

API = api()
BODIES = API.bodies

NEWLINE_AT_END = '\\n"'
SCHEMAS = {
    f"{method} {path} {version[0]}.{version[1]}": schema
    for (path, method), table in BODIES.items()
    for version, schema in table.items()
}


@pytest.mark.parametrize("name", SCHEMAS)
@FUZZING
@given(data=st.data())
def test_what_is_told_is_what_jsonschema_says(name, data):
    schema = SCHEMAS[name]
    value = data.draw(fitting(schema.source))
    for _ in range(data.draw(st.integers(0, 4))):
        value = data.draw(spoiled(value))
    try:
        body = loads(written(value).encode())
    except MalformedJSON:
        return
    formats = STRICT_FORMATS if schema.strict_uuids else LENIENT_FORMATS
    thorough = jsonschema.Draft202012Validator(schema.source, format_checker=formats)
    try:
        error = best_match(thorough.iter_errors(body))
    except RecursionError:
        assert schema.why_not(body) is not None
        return
    why = schema.why_not(body)
    if schema.exact_ends and NEWLINE_AT_END in written(value):
        # jsonschema's patterns overlook it
        assert why is not None or error is None
    else:
        assert why == (None if error is None else str(error))
