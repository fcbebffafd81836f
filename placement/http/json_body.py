"""Reading JSON: orjson what is plain, the standard library what orjson refuses or rounds."""

import json
import re
from typing import Any

import orjson

from placement.errors import MalformedJSON

#: integers this long don't fit orjson's 64 bits, which would make floats of them
_LONG_NUMBER = re.compile(rb"\d{19}")


def loads(body: bytes) -> Any:
    """Parse a request's body. Raises MalformedJSON with the standard library's words."""
    if not _LONG_NUMBER.search(body):
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            pass
    try:
        value = json.loads(body.decode())
        # half of a surrogate pair is no character: no database can store it
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as malformed:
        raise MalformedJSON(why=malformed) from malformed
    return value
